//! Budgets beside processes of which no heap range is known.

use crate::check::{check, folder, json};
use crate::program::{fixtures, run};
use crate::trust::places;
use std::fs;
use tempfile::TempDir;

/// Verdict and what is said of it, of budgets with these conditions and limits, and the exit code with `--strict`. The trace lacks the heap
/// ranges of these processes.
fn judged(without: &[u32], all: &[(&str, &str)]) -> (i32, Vec<(String, String)>) {
    let of = |(at, (conditions, limit)): (usize, &(&str, &str))| {
        format!("[[budget]]\nname = \"{at}\"\nwhere = {{ {conditions} }}\n{limit}\n")
    };
    let folder = folder(&all.iter().enumerate().map(of).collect::<String>());
    put(&folder, without);
    let ran = check(&folder, "trace.etl --budgets budgets.toml --format json --strict");
    let result = json(&ran);
    let budgets = result["traces"][0]["budgets"].as_array().expect("budgets");
    let of = |key: &str, at: usize| budgets[at][key].to_string();
    let told = |at| (of("verdict", at).replace('"', ""), format!("{} {}", of("reason", at), of("warnings", at)));
    (ran.code, (0..budgets.len()).map(told).collect())
}

fn put(folder: &TempDir, without: &[u32]) -> String {
    let mut bytes = fs::read(fixtures().join("resident-small.etl")).expect("a fixture");
    for at in places(&bytes, &[0x0264]) {
        let process = u32::from_le_bytes(bytes[at.start + 44..at.start + 48].try_into().expect("4 bytes"));
        if without.contains(&process) {
            bytes[at.start + 6..at.start + 8].copy_from_slice(&0x0fffu16.to_le_bytes());
        }
    }
    let path = folder.path().join("trace.etl");
    fs::write(&path, bytes).expect("a trace");
    path.to_str().expect("UTF-8").to_owned()
}

/// Pages of heaps of two of 13 processes were VirtualAlloc without a word: a budget of heaps passed by it, and one of VirtualAlloc failed.
#[test]
fn two_processes_without_heaps_leave_budgets_of_heaps_undecided() {
    let both =
        [("category = \"Win32Heap\"", "max = \"800 KiB\""), ("category = \"VirtualAlloc\"", "max = \"1400 KiB\"")];
    let verdicts = |told: &[(String, String)]| told.iter().map(|(verdict, _)| verdict.clone()).collect::<Vec<_>>();
    assert_eq!(verdicts(&judged(&[], &both).1), ["fail", "watch"]);
    let (code, told) = judged(&[1228, 520, 860], &both);
    assert!(code == 3 && told.iter().all(|(_, text)| text.contains("2 of 13 processes with regions")), "{told:?}");
    assert_eq!(verdicts(&told), ["invalid"; 2]);
}

/// One can have begun or ended just then: a note, and budgets that its pages decide say so.
#[test]
fn one_process_without_heaps_is_told_where_it_decides() {
    let of_one = "process = \"MsMpEng.exe\", category = \"Win32Heap\"";
    let [heaps, regions] = ["Win32Heap", "VirtualAlloc"].map(|name| format!("category = \"{name}\""));
    let all = [
        (&*heaps, "max = \"800 KiB\""),
        (&*heaps, "max = \"1000 KiB\""),
        (&*heaps, "max = \"1300 KiB\""),
        (&*regions, "max = \"1400 KiB\""),
        (&*regions, "max = \"1100 KiB\""),
        (of_one, "max = \"1 MiB\"\noptional = true"),
    ];
    let says = "can be Win32Heap";
    let (code, told) = judged(&[1228], &all);
    let found: Vec<(&str, bool)> = told.iter().map(|(verdict, text)| (&**verdict, text.contains(says))).collect();
    let wanted = [("fail", false), ("pass", true), ("pass", false), ("fail", true), ("fail", false), ("pass", true)];
    assert_eq!(code, 1);
    assert_eq!(found, wanted, "{told:?}");
    assert!(judged(&[], &all).1.iter().all(|(_, text)| !text.contains(says)));
    let folder = folder("");
    let ran = run(&["resident", &put(&folder, &[1228]), "--strict", "--format", "json"]);
    assert!(ran.code == 0 && ran.out.contains("1 of 13 processes with regions has no heap range"), "{}", ran.err);
}
