//! The counters of `pfnset resident` against a naive count of the rows of `pfnset pages`: any grouping, condition, order,
//! `--top` and classification, on generated machines. Subtotals and "+ k more" rows included.

use crate::one_of_each;
use crate::program::{finish, pfnset};
use crate::random_cases::cases;
use etl_writer::{Ptr, ResidentSpec, generate_resident};
use proptest::prelude::*;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Cursor;
use tempfile::TempDir;

/// The dimensions that rows of `pages` tell.
const DIMENSIONS: [&str; 13] = [
    "list",
    "use",
    "category",
    "category_wpa",
    "class",
    "process",
    "pid",
    "file",
    "detail",
    "priority",
    "cold",
    "pinned",
    "non_tradeable",
];

/// Labels of a page by dimension, with `snapshot`.
type Page = BTreeMap<String, String>;

/// `[pages, WPA's pages, active, standby, modified, free, other]`.
type Counts = [u64; 7];

/// A condition as the program takes it, and what it means for a page.
type Condition = (String, Box<dyn Fn(&Page) -> bool>);

#[derive(Debug, Clone)]
struct Query {
    group_by: Vec<&'static str>,
    /// Dimension, which page's label, and how the pattern is made of it.
    conditions: Vec<(&'static str, prop::sample::Index, u8)>,
    top: Option<usize>,
    sort: &'static str,
    rules: &'static str,
}

fn query() -> impl Strategy<Value = Query> {
    let group_by = prop::sample::subsequence(DIMENSIONS.to_vec(), 1..5).prop_shuffle();
    let conditions =
        prop::collection::vec((prop::sample::select(&DIMENSIONS[..]), any::<prop::sample::Index>(), 0u8..4), 0..3);
    let top = prop::option::of(1usize..6);
    let sort = prop::sample::select(&["pages", "name", "wpa", "difference"][..]);
    let rules = prop::sample::select(&["both", "both", "corrected", "wpa"][..]);
    (group_by, conditions, top, sort, rules).prop_map(|(group_by, conditions, top, sort, rules)| {
        let compares = group_by.contains(&"category");
        // Orders by counts that the rows do not have are refused.
        let sort = match (sort, rules) {
            ("wpa", "both" | "wpa") | ("difference", "both") if compares => sort,
            ("wpa" | "difference", _) => "pages",
            _ => sort,
        };
        Query { group_by, conditions, top, sort, rules }
    })
}

fn out(folder: &TempDir, arguments: &[&str]) -> String {
    let mut command = pfnset(&[arguments, &["-q"]].concat());
    // Wide enough for any row.
    let ran = finish(command.current_dir(folder.path()).env("COLUMNS", "2000"));
    assert_eq!((ran.code, crate::program::beside_losses(&ran.err).as_str()), (0, ""), "{arguments:?}");
    ran.out
}

/// Classes by category, as docs/categories.md has them.
fn classes() -> BTreeMap<String, String> {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join("categories.md");
    let page = std::fs::read_to_string(page).expect("docs/categories.md");
    let (_, table) = page.split_once("| class | meaning | categories |\n").expect("the table of classes");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .flat_map(|row| row[2].split(", ").map(|name| (name.to_owned(), row[0].to_owned())).collect::<Vec<_>>())
        .collect()
}

/// All rows of `pages`, with the dimensions that follow from them.
fn pages(folder: &TempDir) -> Vec<Page> {
    let classes = classes();
    let text = out(folder, &["pages", "t.etl", "--snapshot", "all", "--format", "csv"]);
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize::<Page>().collect::<Vec<_>>();
    let complete = |row: Result<Page, csv::Error>| {
        let mut page = row.expect("a row");
        let flags: Vec<String> = page["flags"].split('+').map(str::to_owned).collect();
        for flag in ["cold", "pinned", "non_tradeable"] {
            page.insert(flag.into(), flags.contains(&flag.to_owned()).to_string());
        }
        let pid = match page["process"].as_str() {
            "Unknown (-1)" => "-1",
            other if other.starts_with("Unknown (") || other == "n/a" => other,
            named => named.rsplit_once('(').expect("a process id").1.trim_end_matches(')'),
        };
        let pid = pid.to_owned();
        page.insert("pid".into(), pid);
        let class = classes.get(&page["category"]).unwrap_or_else(|| panic!("the class of {}", page["category"]));
        page.insert("class".into(), class.clone());
        let class = classes.get(&page["category_wpa"]).cloned().unwrap_or_else(|| "n/a".to_owned());
        page.insert("class_wpa".into(), class);
        page
    };
    rows.into_iter().map(complete).collect()
}

/// What WPA's rules tell in place of a dimension.
fn by_wpa(dimension: &'static str) -> &'static str {
    match dimension {
        "category" => "category_wpa",
        "class" => "class_wpa",
        other => other,
    }
}

impl Query {
    /// The dimension that stands for another: by WPA's rules `category` is WPA's.
    fn by_rules(&self, dimension: &'static str) -> &'static str {
        if self.rules == "wpa" { by_wpa(dimension) } else { dimension }
    }

    /// The conditions, with the labels of these pages.
    fn conditions(&self, pages: &[Page]) -> Vec<Condition> {
        let mut all: Vec<Condition> = Vec::new();
        for &(name, page, how) in &self.conditions {
            let dimension = self.by_rules(name);
            let label = page.get(pages)[dimension].clone();
            let half: String = label.chars().take(label.chars().count() / 2).collect();
            let lower = label.to_lowercase();
            let of = move |page: &Page| page[dimension].to_lowercase();
            all.push(match how {
                0 => (format!("{name}={label}"), Box::new(move |page| of(page) == lower)),
                1 => (format!("{name}=!{label}"), Box::new(move |page| of(page) != lower)),
                2 => (format!("{name}={half}*"), Box::new(move |page| of(page).starts_with(&half.to_lowercase()))),
                _ => (
                    format!("{name}={};n/a", label.to_uppercase()),
                    Box::new(move |page| of(page) == lower || of(page) == "n/a"),
                ),
            });
        }
        all
    }

    fn compares(&self) -> bool {
        self.rules == "both" && self.group_by.iter().any(|dimension| by_wpa(dimension) != *dimension)
    }

    /// Counts by label, the naive way.
    fn count(&self, pages: &[&Page]) -> BTreeMap<Vec<String>, Counts> {
        let mut counts: BTreeMap<Vec<String>, Counts> = BTreeMap::new();
        for page in pages {
            let labels = |is_by_wpa: bool| -> Vec<String> {
                let swap = |d: &&'static str| if is_by_wpa { by_wpa(d) } else { self.by_rules(d) };
                self.group_by.iter().map(|d| page[swap(d)].clone()).collect()
            };
            let cell = counts.entry(labels(false)).or_default();
            let is = |lists: &[&str]| u64::from(lists.contains(&page["list"].as_str()));
            let lists = [
                is(&["Active"]),
                is(&["Standby"]),
                is(&["Modified", "ModifiedNoWrite"]),
                is(&["Zero", "Free"]),
                is(&["Bad", "Transition"]),
            ];
            cell[0] += 1;
            cell[2..].iter_mut().zip(lists).for_each(|(count, is)| *count += is);
            counts.entry(labels(self.compares())).or_default()[1] += 1;
        }
        counts
    }

    fn order(&self, a: &(String, Counts), b: &(String, Counts)) -> Ordering {
        let by_name = || as_people_sort(&a.0).cmp(&as_people_sort(&b.0)).then_with(|| a.0.cmp(&b.0));
        let key = |counts: &Counts| match self.sort {
            "pages" => counts[0],
            "wpa" => counts[1],
            _ => counts[0].abs_diff(counts[1]),
        };
        let first = if self.sort == "name" { by_name() } else { key(&b.1).cmp(&key(&a.1)) };
        first.then(b.1[1].cmp(&a.1[1])).then_with(by_name)
    }

    /// The lines of the table below labels that are given: depth, label, counts.
    fn lines(
        &self,
        counts: &BTreeMap<Vec<String>, Counts>,
        above: &[String],
        lines: &mut Vec<(usize, String, Counts)>,
    ) {
        let depth = above.len();
        if depth == self.group_by.len() {
            return;
        }
        let mut parts: BTreeMap<String, Counts> = BTreeMap::new();
        for (labels, count) in counts.iter().filter(|(labels, _)| labels.starts_with(above)) {
            add(parts.entry(labels[depth].clone()).or_default(), count);
        }
        let for_people = |(label, count): (String, Counts)| (shown(self.group_by[depth], &label), count, label);
        let mut parts: Vec<(String, Counts, String)> = parts.into_iter().map(for_people).collect();
        parts.sort_by(|a, b| self.order(&(a.0.clone(), a.1), &(b.0.clone(), b.1)));
        let rest = parts.split_off(self.top.unwrap_or(usize::MAX).min(parts.len()));
        for (shown, count, label) in parts {
            lines.push((depth, shown, count));
            self.lines(counts, &[above, &[label]].concat(), lines);
        }
        if !rest.is_empty() {
            let mut sum = Counts::default();
            rest.iter().for_each(|part| add(&mut sum, &part.1));
            lines.push((depth, format!("+ {} more", rest.len()), sum));
        }
    }
}

/// The label that people see. These traces tell no drive letters.
fn shown(dimension: &str, label: &str) -> String {
    match (dimension, label) {
        ("process", "Unknown (-1)") | ("pid", "-1") => "shared (files, images, sections)".to_owned(),
        ("process" | "pid", "n/a") => "kernel, free, owner not recorded".to_owned(),
        ("file" | "folder" | "extension", "n/a") => "no file".to_owned(),
        ("detail" | "session", "n/a") => format!("no {dimension}"),
        ("file" | "detail", path) => {
            let volume = path.strip_prefix("\\Device\\HarddiskVolume").and_then(|rest| rest.split_once('\\'));
            volume.map_or_else(|| path.to_owned(), |(number, rest)| format!("Volume{number}:\\{rest}"))
        }
        _ => label.to_owned(),
    }
}

fn add(sum: &mut Counts, part: &Counts) {
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
}

/// Counts in their order, by the names of the columns of lists.
fn counts_of(pages: u64, wpa: u64, on: impl Fn(&str) -> u64) -> Counts {
    [pages, wpa, on("Active"), on("Standby"), on("Modified"), on("Free"), on("Other")]
}

/// The rows of a table as depth, label and counts; the last one is the total.
fn read_table(text: &str, compares: bool) -> Vec<(usize, String, Counts)> {
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let rule = |line: &Vec<char>| line.first() == Some(&'─');
    let first = lines.iter().position(rule).expect("a rule below the heading");
    let heading: String = lines[first - 1].iter().collect();
    // Numbers end where their titles end.
    let end = |title: &str| heading.rfind(title).map(|at| heading[..at + title.len()].chars().count());
    let read = |line: &Vec<char>| {
        let cell = |title: &str| {
            let end = end(title).unwrap_or_else(|| panic!("{title} in {heading}")).min(line.len());
            let from = (0..end).rev().find(|&at| line[at] == ' ').map_or(0, |at| at + 1);
            let digits: String = line[from..end].iter().filter(|c| **c != ',').collect();
            (if digits.is_empty() { Some(0) } else { digits.parse().ok() }, from)
        };
        let (pages, from) = cell(if heading.contains("Pages by WPA") { "Pages by WPA" } else { "Pages" });
        let (pages, label) = (pages.expect("pages"), line[..from].iter().collect::<String>());
        assert_eq!(cell("Size/pages").0, Some(pages), "{text}");
        // A blank cell at the end of a line is no cell; one before another is blank.
        let count =
            |title: &str| if end(title).is_some_and(|end| end <= line.len()) { cell(title).0.unwrap() } else { 0 };
        let wpa = if compares { count("WPA") } else { pages };
        if compares {
            let shown = end("Difference").filter(|&end| end <= line.len()).map_or(String::new(), |end| {
                let from = (0..end).rev().find(|&at| line[at] == ' ').map_or(0, |at| at + 1);
                line[from..end].iter().filter(|c| **c != ',').collect()
            });
            let difference = pages as i64 - wpa as i64;
            assert_eq!(shown, if difference == 0 { String::new() } else { format!("{difference:+}") }, "{text}");
        }
        let depth = label.chars().take_while(|c| *c == ' ').count() / 2;
        (depth, label.trim().to_owned(), counts_of(pages, wpa, count))
    };
    let rows = lines[first + 1..].iter().take_while(|line| !line.is_empty()).filter(|line| !rule(line));
    rows.map(read).collect()
}

fn check(folder: &TempDir, query: &Query, which: &str) -> Result<(), TestCaseError> {
    let pages = pages(folder);
    let conditions = query.conditions(&pages);
    let group_by = query.group_by.join(",");
    let top = query.top.map(|top| top.to_string());
    let mut arguments = vec!["resident", "t.etl", "--group-by", &group_by, "--sort", query.sort];
    arguments.extend(["--classification", query.rules, "--snapshot", which]);
    conditions.iter().for_each(|(text, _)| arguments.extend(["--where", text.as_str()]));

    let json: Value = serde_json::from_str(&out(folder, &[&arguments[..], &["--format", "json"]].concat())).unwrap();
    let csv = out(folder, &[&arguments[..], &["--format", "csv"]].concat());
    let csv: Vec<Page> =
        csv::Reader::from_reader(csv.as_bytes()).deserialize().map(|row| row.expect("a row")).collect();
    for set in json["snapshots"].as_array().unwrap() {
        let index = set["index"].to_string();
        let all: Vec<&Page> = pages.iter().filter(|page| page["snapshot"] == index).collect();
        let selected: Vec<&Page> =
            all.iter().copied().filter(|page| conditions.iter().all(|(_, meets)| meets(page))).collect();
        prop_assert_eq!(&set["pages"], all.len());
        prop_assert_eq!(&set["selected_pages"], selected.len());
        let wanted = query.count(&selected);

        // Two processes can have one label; their rows count together.
        let mut found: BTreeMap<Vec<String>, Counts> = BTreeMap::new();
        for row in set["rows"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let labels = query.group_by.iter().map(|d| text(&row[*d])).collect();
            let number = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} of {row}"));
            let pages = number("pages");
            prop_assert_eq!(number("bytes"), pages * 4096);
            prop_assert_eq!(row.get("pages_wpa").is_some(), query.compares());
            let wpa = if query.compares() { number("pages_wpa") } else { pages };
            let counts = counts_of(pages, wpa, |list| number(&format!("{}_pages", list.to_lowercase())));
            add(found.entry(labels).or_default(), &counts);
        }
        prop_assert_eq!(&found, &wanted, "{:?}", arguments);

        let mut found: BTreeMap<Vec<String>, Counts> = BTreeMap::new();
        for row in csv.iter().filter(|row| row["snapshot"] == index) {
            let number = |key: &str| row[key].parse::<u64>().expect("a number");
            let wpa = if query.compares() { number("pages_wpa") } else { number("pages") };
            let counts = counts_of(number("pages"), wpa, |list| number(&format!("{}_pages", list.to_lowercase())));
            add(found.entry(query.group_by.iter().map(|d| row[*d].clone()).collect()).or_default(), &counts);
        }
        prop_assert_eq!(&found, &wanted, "{:?}", arguments);
    }

    for set in json["snapshots"].as_array().unwrap() {
        let index = set["index"].to_string();
        let mut arguments = arguments.clone();
        let at = arguments.iter().position(|argument| *argument == "--snapshot").unwrap() + 1;
        arguments[at] = &index;
        let meets = |page: &&Page| page["snapshot"] == index && conditions.iter().all(|(_, meets)| meets(page));
        let selected: Vec<&Page> = pages.iter().filter(meets).collect();
        arguments.extend(["--unit", "pages"]);
        top.iter().for_each(|top| arguments.extend(["--top", top]));
        let table = out(folder, &arguments);
        if selected.is_empty() {
            prop_assert!(table.contains("No page meets the conditions"), "{}", table);
            continue;
        }
        let counts = query.count(&selected);
        let mut wanted = Vec::new();
        query.lines(&counts, &[], &mut wanted);
        let mut total = Counts::default();
        counts.values().for_each(|count| add(&mut total, count));
        wanted.push((0, "Total".to_owned(), total));
        prop_assert_eq!(read_table(&table, query.compares()), wanted, "{:?}\n{}", arguments, table);
    }
    Ok(())
}

fn machine() -> impl Strategy<Value = ResidentSpec> {
    (1u64..400, any::<u64>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(pages, seed, wide, by_id, newest)| ResidentSpec {
            pages: pages * 8,
            processes: 4 + seed % 5,
            ranges_per_process: 64,
            files: 64,
            seed,
            event_version: if by_id { 4 } else { 2 },
            page_hook: if newest { 0x028a } else { 0x0223 },
            pointer: if wide { Ptr::P8 } else { Ptr::P4 },
            build: if newest { 26100 } else { 22631 },
            buffer_size: 0x1000,
            processors: 2,
            ..ResidentSpec::default()
        },
    )
}

/// A key by which names sort without case, and numbers in them by value.
fn as_people_sort(name: &str) -> Vec<(char, u64)> {
    let mut key = Vec::new();
    let mut in_number = false;
    for c in name.to_lowercase().chars() {
        match (c.to_digit(10), key.last_mut()) {
            (Some(digit), Some((_, value))) if in_number => *value = *value * 10 + u64::from(digit),
            // All numbers are at one place among the letters.
            (Some(digit), _) => key.push(('0', u64::from(digit))),
            (None, _) => key.push((c, 0)),
        }
        in_number = c.is_ascii_digit();
    }
    key
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn rows_count_the_pages_of_a_generated_machine(spec in machine(), query in query()) {
        let folder = tempfile::tempdir().unwrap();
        let (bytes, _) = generate_resident(&spec, Cursor::new(Vec::new())).unwrap();
        std::fs::write(folder.path().join("t.etl"), bytes.into_inner()).unwrap();
        check(&folder, &query, "last")?;
    }

    /// A page for each rule, in two sequences.
    #[test]
    fn rows_count_the_pages_of_each_snapshot(which in prop::sample::select(&["0", "1", "last", "all"][..]), query in query()) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t.etl"), one_of_each::trace(2)).unwrap();
        check(&folder, &query, which)?;
    }
}
