//! What is read back from the Parquet counts as `pfnset resident` does, by every dimension; and the counted tables add up to
//! those with a row for each page.

use super::{Row, id_of, rows};
use crate::one_of_each;
use crate::program::{beside_losses, finish, out, pfnset};
use crate::random_cases::{cases, one_in};
use etl_writer::{ResidentSpec, generate_resident};
use pfnset::analysis::resident::ResidentSet;
use pfnset::analysis::resident::page_dimensions::Dimension;
use pfnset::analysis::resident::query::{Classification, ResidentQuery, SnapshotChoice};
use pfnset::dimensions::{Dimension as _, FileFacet, Label, LabelKind, ProcessFacet};
use pfnset::model::Category;
use pfnset::trace::Trace;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Counts = BTreeMap<(usize, Vec<String>), u64>;

/// What the library counts, of all snapshots.
fn counted(trace: &Path, dimensions: &[Dimension]) -> Counts {
    let trace = Trace::open(trace).expect("a trace");
    let query = ResidentQuery {
        group_by: dimensions.to_vec(),
        classification: Classification::Corrected,
        snapshot: SnapshotChoice::All,
        processes: false,
        ..ResidentQuery::default()
    };
    let set = ResidentSet::answer(&trace, &query).expect("pages");
    let mut counts = Counts::new();
    for snapshot in &set.snapshots {
        for row in &snapshot.rows {
            let label = |(dimension, label): (&Dimension, &Label)| match *dimension {
                // The export has no text for a session of which only the key is known.
                Dimension::SESSION if label.kind() == LabelKind::Unknown => "n/a".to_owned(),
                _ => label.to_string(),
            };
            let labels = dimensions.iter().zip(&row.labels).map(label).collect();
            *counts.entry((snapshot.index, labels)).or_default() += row.measure.pages;
        }
    }
    counts
}

/// The exported tables of one trace.
struct Exported {
    pages: Vec<Row>,
    resident: Vec<Row>,
    processes: BTreeMap<String, Row>,
    files: BTreeMap<String, Row>,
    /// What a process without a service is called: none, where the trace lists them.
    no_service: &'static str,
}

impl Exported {
    fn new(trace: &Path, folder: &Path) -> Exported {
        let arguments = [
            "export",
            trace.to_str().unwrap(),
            "--out",
            folder.to_str().unwrap(),
            "--pages",
            "--snapshot",
            "all",
            "-q",
        ];
        let ran = finish(&mut pfnset(&arguments));
        assert_eq!((ran.code, ran.out.as_str(), beside_losses(&ran.err).as_str()), (0, "", ""));
        let table = |name| rows(folder, name).into_iter().map(|(_, row)| row);
        let by = |name, key: &str| table(name).map(|row: Row| (row[key].clone(), row)).collect();
        Exported {
            pages: table("pages").collect(),
            resident: table("resident").collect(),
            processes: by("processes", "instance"),
            files: by("files", "file"),
            no_service: match out(&["events", arguments[1], "--format", "csv", "-q"]).contains(",0x0b0f,3,") {
                true => "no service",
                false => "Unknown",
            },
        }
    }

    /// A dimension's label of a row, as SQL would make it.
    fn label(&self, row: &Row, dimension: Dimension) -> String {
        let own = |name: &str| row.get(name).cloned();
        let none = || "n/a".to_owned();
        let process = row.get("instance").map(|instance| &self.processes[instance]);
        let of_process = |name: &str, unknown: &str| match process {
            Some(process) => process.get(name).cloned().unwrap_or_else(|| unknown.to_owned()),
            None => own("process").unwrap_or_else(none),
        };
        let of_file = |name: &str, unknown: &str| match own("file") {
            None => none(),
            Some(file) => match self.files.get(&file) {
                Some(file) => file.get(name).cloned().unwrap_or_else(|| unknown.to_owned()),
                None => "Unknown".to_owned(),
            },
        };
        let flag = |name: &str| row["flags"].split('+').any(|flag| flag == name).to_string();
        match dimension {
            Dimension::Process(ProcessFacet::ProcessName) => of_process("process_name", "Unknown"),
            Dimension::Process(ProcessFacet::Service) => of_process("services", self.no_service),
            Dimension::Process(ProcessFacet::CommandLine) => of_process("command_line", "Unknown"),
            Dimension::Process(ProcessFacet::Pid) => match of_process("pid", "") {
                shared if shared == "Unknown (-1)" => "-1".to_owned(),
                label => label,
            },
            Dimension::File(FileFacet::Folder) => of_file("folder", ""),
            Dimension::File(FileFacet::Extension) => of_file("extension", "none"),
            Dimension::ClassWpa => {
                let category = Category::ALL.into_iter().find(|category| category.name() == row["category_wpa"]);
                category.expect("a category").class().name().to_owned()
            }
            Dimension::Cold | Dimension::Pinned | Dimension::NonTradeable => flag(dimension.name()),
            _ => own(dimension.name()).unwrap_or_else(none),
        }
    }

    /// Counts of both tables, which must be the same.
    fn counts(&self, dimensions: &[Dimension]) -> Counts {
        let of = |rows: &[Row], pages: &dyn Fn(&Row) -> u64| {
            let mut counts = Counts::new();
            for row in rows {
                let labels = dimensions.iter().map(|dimension| self.label(row, *dimension)).collect();
                *counts.entry((row["snapshot"].parse().unwrap(), labels)).or_default() += pages(row);
            }
            counts
        };
        let counted = of(&self.resident, &|row| row["pages"].parse().unwrap());
        assert_eq!(counted, of(&self.pages, &|_| 1), "resident adds up to pages: {dimensions:?}");
        counted
    }
}

/// Dimensions by themselves, and nested with others: a third of all that the tables have; stacks of commits and
/// tags of pool are not among them.
fn check(trace: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let exported = Exported::new(trace, folder.path());
    let all: Vec<Dimension> =
        Dimension::ALL.iter().copied().filter(|one| !matches!(one, Dimension::Stack(_) | Dimension::PoolTag)).collect();
    for (place, dimension) in one_in(3, all.iter().copied().enumerate().collect()) {
        let next = all[(place + 5) % all.len()];
        for dimensions in [&[dimension][..], &[dimension, Dimension::CategoryWpa], &[next, dimension, Dimension::List]]
        {
            let distinct = dimensions.iter().all(|d| dimensions.iter().filter(|other| *other == d).count() == 1);
            if distinct {
                assert_eq!(exported.counts(dimensions), counted(trace, dimensions), "{dimensions:?}");
            }
        }
    }
    for row in &exported.resident {
        assert_eq!(row["bytes"].parse::<u64>().unwrap(), row["pages"].parse::<u64>().unwrap() * 4096);
    }
}

#[test]
fn a_machine_with_a_page_for_each_rule_counts_the_same() {
    let trace = etl_writer::file_of(&one_of_each::trace(2));
    check(trace.path());
}

#[test]
fn fixtures_count_the_same() {
    for name in ["resident-small.etl", "refset-proved.etl"] {
        check(&crate::program::fixtures().join(name));
    }
}

proptest! {
    #![proptest_config(cases(2))]

    #[test]
    fn generated_machines_count_the_same(
        seed: u64,
        pages in 500u64..3000,
        processes in 4u64..16,
        event_version in prop::sample::select(vec![2u16, 4]),
    ) {
        let small = ResidentSpec { ranges_per_process: 64, files: 64, ..ResidentSpec::default() };
        let spec = ResidentSpec { pages, seed, processes, event_version, ..small };
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("machine.etl");
        generate_resident(&spec, std::fs::File::create(&trace).unwrap()).unwrap();
        check(&trace);
    }
}

/// The reference set: what is held at the end, by category, counted and one by one.
#[test]
fn holdings_add_up_to_the_counted_reference_set() {
    let folder = tempfile::tempdir().unwrap();
    out(&["export", "refset-small.etl", "--out", folder.path().to_str().unwrap(), "--pages", "-q"]);
    let name = |row: &Row, column: &str| row.get(column).cloned().unwrap_or_else(|| "null".into());
    let columns = ["process", "category", "file", "detail", "access_reason", "release_reason"];
    let key = |row: &Row| columns.map(|column| name(row, column));
    let mut one_by_one: BTreeMap<[String; 6], u64> = BTreeMap::new();
    for (_, row) in rows(folder.path(), "refset_pages") {
        *one_by_one.entry(key(&row)).or_default() += 1;
        assert!(row.contains_key("end_s") == row.contains_key("release_reason"), "{row:?}");
    }
    let mut counted: BTreeMap<[String; 6], u64> = BTreeMap::new();
    for (_, row) in rows(folder.path(), "refset") {
        let pages: i64 = row["pages"].parse().unwrap();
        *counted.entry(key(&row)).or_default() += pages.unsigned_abs();
    }
    counted.retain(|_, pages| *pages > 0);
    assert!(counted.values().sum::<u64>() > 2000, "{}", counted.values().sum::<u64>());
    assert_eq!(one_by_one, counted);
}

/// A sum over a table counts each page once, unless all snapshots were asked for; then `is_last` does.
#[test]
fn of_two_snapshots_the_last_one_is_in_the_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("two.etl");
    std::fs::write(&trace, one_of_each::trace(2)).unwrap();
    let pages = one_of_each::pages().len() as u64;
    let dataset = folder.path().join("dataset");
    let export = |more: &[&str]| {
        let arguments = ["export", trace.to_str().unwrap(), "--out", dataset.to_str().unwrap(), "--pages"];
        finish(&mut pfnset(&[&arguments, more].concat())).out
    };
    let table = |name| rows(&dataset, name).into_iter().map(|(_, row)| row).collect::<Vec<Row>>();
    let sum = |rows: &[&Row]| rows.iter().map(|row| row["pages"].parse::<u64>().unwrap()).sum::<u64>();
    // By default, then by its name, and again after all were there.
    for (more, snapshots) in [(&[][..], 1), (&["--snapshot", "all"], 2), (&["--snapshot", "last"], 1)] {
        assert!(!export(more).contains("there already"));
        let (resident, by_page, ranges) = (table("resident"), table("pages"), table("ranges"));
        assert_eq!(sum(&resident.iter().collect::<Vec<_>>()), snapshots * pages, "{more:?}");
        assert_eq!(by_page.len() as u64, snapshots * pages, "{more:?}");
        let last: Vec<&Row> = resident.iter().filter(|row| row["is_last"] == "true").collect();
        assert_eq!(sum(&last), pages, "{more:?}");
        for row in resident.iter().chain(&by_page).chain(&ranges) {
            assert_eq!(row["is_last"] == "true", row["snapshot"] == "1", "{row:?}");
        }
        assert!(ranges.iter().any(|row| row["is_last"] == "true"), "{more:?}");
        let traces = table("traces");
        assert_eq!((traces[0]["snapshots"].as_str(), traces[0]["schema_version"].as_str()), ("2", "2"));
        assert!(export(&[more, &["--resume"]].concat()).contains("there already"));
    }
    let ran = finish(&mut pfnset(&["export", "two.etl", "--out", "d", "--snapshot", "1"]));
    assert_eq!(ran.code, 2, "numbers mean another snapshot in each trace: {ran:?}");
}

/// Docs say that the table has what all analyses say: these have no table of their own.
#[test]
fn warnings_of_analyses_without_tables_are_in_the_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let dataset = folder.path().to_str().expect("UTF-8");
    out(&["export", "resident-small.etl", "stacks-keys.etl", "--out", dataset, "--tables", "warnings", "-q"]);
    let warnings = rows(folder.path(), "warnings");
    let of = |trace: &str, analysis: &str| -> BTreeSet<String> {
        let id = id_of(folder.path(), trace);
        let own = warnings.iter().filter(|(of, row)| *of == id && row["analysis"] == analysis);
        own.map(|(_, row)| row["code"].clone()).collect()
    };
    assert!(of("resident-small.etl", "cpu").contains("by_samples"), "{warnings:#?}");
    let faults = of("stacks-keys.etl", "faults");
    assert!(faults.contains("not_recorded") && faults.contains("records_left_out"), "{warnings:#?}");
}
