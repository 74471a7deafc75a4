//! Files with which an attacker broke an earlier version, one by one, where they are present: `../shared/hostile`. What each of them
//! broke has tests of its own too, of traces that are made for it; SECURITY.md names them.
#![cfg(unix)]

use crate::cli::into_a_closed_pipe;
use crate::hostile::is_harmless;
use crate::limits::in_memory;
use crate::program::{Ran, finish, pfnset, program, skipped_on_windows};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the files are.
fn files() -> Option<PathBuf> {
    if skipped_on_windows("reproducers", "their commands are those of Unix") {
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/hostile").canonicalize().ok();
    if folder.is_none() {
        // Not eprintln, which tests capture.
        writeln!(std::io::stderr(), "SKIPPED: reproducers: no ../shared/hostile").expect("standard error");
    }
    folder
}

/// Runs the words of a line in a folder; `@name` is one of the files.
fn run(files: &Path, folder: &Path, line: &str) -> Ran {
    let words: Vec<String> = words(files, line);
    finish(pfnset(&words.iter().map(String::as_str).collect::<Vec<_>>()).current_dir(folder))
}

fn words(files: &Path, line: &str) -> Vec<String> {
    let path = |word: &str| match word.strip_prefix('@') {
        Some(name) => files.join(name).to_str().expect("a plain name").to_owned(),
        None => word.to_owned(),
    };
    line.split(' ').map(path).collect()
}

#[test]
fn a_dataset_of_somebody_else_changes_nothing_outside() {
    let Some(files) = files() else { return };
    let ran = std::process::Command::new(files.join("hostile_dataset.sh")).arg(program()).output().expect("a shell");
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("exit code 0"), "{out}");
}

#[test]
fn names_are_shown_escaped() {
    let Some(files) = files() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let forms =
        ["table", "json", "csv", "jsonl", "markdown"].map(|form| format!("processes @names.etl --format {form}"));
    let others = ["refset @mark-esc.etl", "cpu @mark-esc-cpu.etl --from click*", "export @member-esc.zip --out d"];
    for line in others.into_iter().chain(forms.iter().map(String::as_str)) {
        let ran = run(&files, folder.path(), line);
        assert!(ran.code < 2 || line.starts_with("export"), "{line}: {}", ran.err);
        is_harmless(&ran, &[line]);
    }
    // Without what is escaped, and what keeps letters apart.
    let markdown = run(&files, folder.path(), &forms[4]).out;
    let active = ["\\\\", "\\<", "\\[", "\\]"].iter().fold(markdown.clone(), |text, escaped| text.replace(escaped, ""));
    let active = active.replace("<!-- -->", "\u{2063}");
    for text in ["<", "[", "](", "http:/", "@octocat", "#1 GH"] {
        assert!(!active.contains(text), "{text}: {markdown}");
    }
}

#[test]
fn no_row_is_lost() {
    let Some(files) = files() else { return };
    let lines = |form: &str| {
        let ran = run(&files, &files, &format!("processes @osc.etl --format {form} -q"));
        is_harmless(&ran, &[form]);
        ran.out.lines().count()
    };
    assert_eq!((lines("csv"), lines("jsonl")), (15, 14));
}

#[test]
fn verdicts_are_well_formed_and_reach_the_exit_code() {
    let Some(files) = files() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let line = "check @uffff.etl --budgets @uffff.toml --save-baseline b.json --junit x.xml";
    let ran = run(&files, folder.path(), line);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let xml = std::fs::read_to_string(folder.path().join("x.xml")).expect("a file");
    roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let words = words(&files, "check @m1.etl --budgets @one-page.toml");
    let (code, err) = into_a_closed_pipe(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, Some(1), "{err}");
    // Budgets that were made of a trace fit it, whatever its names are.
    for trace in ["names", "osc", "uffff", "m1"] {
        let made = run(&files, folder.path(), &format!("check @{trace}.etl --init --force -o made.toml -q"));
        assert_eq!(made.code, 0, "{trace}: {}", made.err);
        let ran = run(&files, folder.path(), &format!("check @{trace}.etl --budgets made.toml -q"));
        assert_eq!(ran.code, 0, "{trace}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_trace_equals_itself() {
    let Some(files) = files() else { return };
    for by in ["file", "detail", "process,file"].into_iter().cycle().take(9) {
        let ran = run(&files, &files, &format!("diff @diff-two-snapshots.etl @diff-two-snapshots.etl --group-by {by}"));
        assert!(ran.code == 0 && ran.out.contains("Equal"), "{by}: {}{}", ran.out, ran.err);
    }
}

/// 2.9 GB and 2.1 GB before.
#[test]
fn memory_is_in_proportion_to_the_file() {
    let Some(files) = files() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let dataset = folder.path().join("d");
    for line in [
        "memory @memory-quadratic-5000.etl --timeline all --group-by process --format csv -j 1".to_owned(),
        format!("export @export-blowup.etl --format csv -j 1 -q --out {}", dataset.display()),
    ] {
        let words = words(&files, &line);
        let ran = in_memory(600 << 10, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
    }
}

#[test]
fn anonymized_traces_keep_damage_and_no_secret() {
    let Some(files) = files() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let anonymized = |name: &str| {
        let ran = run(&files, folder.path(), &format!("anonymize @{name} -o x.etl -q --force"));
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        std::fs::read(folder.path().join("x.etl")).expect("a file")
    };
    anonymized("anon-hides-damage.etl");
    let strict = |trace: &str| run(&files, folder.path(), &format!("info {trace} --strict -q")).code;
    assert_eq!((strict("@anon-hides-damage.etl"), strict("x.etl")), (3, 3));

    let (before, after) = (std::fs::read(files.join("secret.etl")).expect("a file"), anonymized("secret.etl"));
    let secrets = std::fs::read(files.join("secret.etl.secrets.json")).expect("a file");
    let mut secrets: BTreeMap<String, String> = serde_json::from_slice(&secrets).expect("texts");
    // Frames of a stack are addresses, and stay; docs/anonymize.md says so.
    assert!(secrets.remove("stackframes").is_some());
    let places = |file: &[u8], bytes: &[u8]| memchr::memmem::find_iter(file, bytes).count();
    let mut looked_for = 0;
    for (slot, text) in &secrets {
        let texts: Vec<Vec<u8>> = match text.strip_prefix("hex:") {
            Some(hex) => vec![
                (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect(),
            ],
            None => vec![text.clone().into_bytes(), text.encode_utf16().flat_map(u16::to_le_bytes).collect()],
        };
        for bytes in &texts {
            looked_for += usize::from(places(&before, bytes) > 0);
            assert_eq!(places(&after, bytes), 0, "{slot}: {text}");
        }
    }
    assert!(looked_for > 60, "{looked_for} secrets were in the trace");
}
