//! Sentences that tell what the numbers of rows are of, and what they lack: they stay where columns are chosen, and beside other traces.

use crate::program::{finish, fixtures, pfnset, run};
use std::path::Path;

/// Questions, and a column of their rows.
const ASKED: [(&str, &str); 29] = [
    ("cpu cpu-compressed.etl", "cpu"),
    ("cpu cpu-compressed.etl --where process=b*", "cpu"),
    ("cpu cpu-compressed.etl --group-by processor", "switches"),
    ("cpu cpu-compressed.etl --group-by function", "cpu"),
    ("cpu cpu-compressed.etl --timeline 50ms --where process=burn*", "threads,idle"),
    ("cpu cpu-compressed.etl --timeline 50ms", "idle"),
    ("cpu cpu-compressed.etl --preset sampling", "exact"),
    ("cpu stacks-keys.etl --preset interrupts", "count"),
    ("cpu resident-small.etl --where process=a*", "samples,share"),
    ("cpu resident-small.etl --group-by processor", "samples"),
    ("memory faults-x86.etl", "start,end,mean"),
    ("memory faults-x86.etl --timeline 1s", "standby"),
    ("refset refset-proved.etl --where category=MapFile", "pages"),
    ("refset refset-proved.etl --group-by impact", "pages"),
    ("refset refset-proved.etl --group-by release_reason", "pages"),
    ("refset refset-proved.etl --group-by access_reason", "pages"),
    ("refset refset-proved.etl --group-by function", "pages"),
    ("stacks stacks-keys.etl", "self,total"),
    ("stacks stacks-keys.etl --where process=w*", "self"),
    ("stacks stacks-keys.etl --tree --where process=w*", "events"),
    ("stacks stacks-keys.etl --group-by process,module", "events"),
    ("faults faults-x86.etl", "faults"),
    ("faults faults-x86.etl --of soft", "faults"),
    ("faults faults-x86.etl --of ranges", "faults"),
    ("allocations alloc-x86.etl", "pieces"),
    ("allocations alloc-x86.etl --of pool", "pieces"),
    ("allocations resident-small.etl --preset not-resident", "in_ram"),
    ("processes resident-small.etl", "private"),
    ("resident resident-small.etl --group-by function", "pages"),
];

/// What stands for a table that is left out, or leads to others.
const OF_OTHER_TABLES: [&str; 6] =
    ["By process:", "Innermost module:", "Other kinds:", "Peak ", "322 disk requests", "176 soft faults"];

/// Sentences of a document, and its titles without units: a heading tells them too.
fn sentences(document: &str) -> Vec<&str> {
    let is_sentence = |line: &&str| !line.is_empty() && !line.starts_with(['|', '-', '*']);
    document.lines().filter(is_sentence).collect()
}

#[test]
fn sentences_stay_where_columns_are_chosen() {
    for (asked, columns) in ASKED {
        let asked: Vec<&str> = asked.split(' ').chain(["-q", "--format", "markdown"]).collect();
        let of = |more: &[&str]| {
            let ran = run(&[&asked[..], more].concat());
            assert_eq!(ran.code, 0, "{asked:?} {more:?}: {ran:?}");
            ran.out
        };
        let (whole, chosen) = (of(&[]), of(&["--columns", columns]));
        let chosen = sentences(&chosen);
        for sentence in sentences(&whole) {
            let is_of_others = OF_OTHER_TABLES.iter().any(|begin| sentence.starts_with(begin));
            assert!(is_of_others || chosen.contains(&sentence), "{asked:?}: {sentence}\n{chosen:?}");
        }
    }
}

/// What is said, in one line.
fn said(folder: &Path, arguments: &[&str]) -> String {
    let ran = finish(pfnset(arguments).current_dir(folder));
    assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    ran.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sentences_stay_in_text_with_columns() {
    for (asked, sentence) in [
        (
            "cpu cpu-compressed.etl --timeline 50ms --where process=burn* --columns threads,idle",
            "Without the conditions: Threads, Idle, DPC, ISR, Unknown and Ready threads",
        ),
        (
            "cpu cpu-compressed.etl --group-by processor --columns switches",
            "Switches count those to idle threads too; times are without them",
        ),
        (
            "cpu resident-small.etl --where process=a* --columns samples,share",
            "Shares are of all samples in the window, not only of those that meet the conditions",
        ),
        ("cpu stacks-keys.etl --preset interrupts --columns count", "None in the window"),
        ("memory faults-x86.etl --columns start,end", "Pools, MDL and system commit are in 5 of 11 samples: their"),
        (
            "memory faults-x86.etl --timeline 1s --columns standby",
            "Each row is the latest sample at or before its time:",
        ),
        ("refset refset-proved.etl --group-by impact --columns pages", "rows and totals of them are net growth"),
        ("refset refset-proved.etl --group-by release_reason --columns pages", "The other 543 releases of the 1,308"),
        (
            "allocations resident-small.etl --preset not-resident --columns in_ram",
            "Commit that is not in RAM at snapshot 0",
        ),
    ] {
        let shown = said(&fixtures(), &asked.split(' ').collect::<Vec<_>>());
        assert!(shown.contains(sentence), "{asked}: {shown}");
    }
}

/// They were left out beside other traces.
#[test]
fn sentences_of_rows_stand_below_the_table_of_many_traces() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["faults-x86.etl", "resident-small.etl"] {
        std::fs::copy(fixtures().join(name), folder.path().join(name)).unwrap();
    }
    let of = |asked: &str| said(folder.path(), &asked.split(' ').collect::<Vec<_>>());
    for form in ["table", "markdown"] {
        let shown = of(&format!("memory --each . -q --format {form}"));
        let told = "faults-x86.etl: Pools, MDL and system commit are in 5 of 11 samples: their numbers are of these.";
        assert!(shown.ends_with(told) && shown.matches("Pools, MDL").count() == 1, "{shown}");
        let shown = of(&format!("memory --each . -q --timeline 1s --columns standby --format {form}"));
        assert!(shown.contains("faults-x86.etl: Each row is the latest sample at or before its time: "), "{shown}");
    }
    for name in ["refset-proved.etl", "refset-small.etl"] {
        std::fs::copy(fixtures().join(name), folder.path().join(name)).unwrap();
    }
    let shown = of("refset --each refset-proved.etl refset-small.etl -q --group-by impact --columns pages");
    let told = "Pages counts a page for each holder";
    assert!(shown.matches(told).count() == 1 && !shown.contains(&format!("etl: {told}")), "of all: {shown}");
}
