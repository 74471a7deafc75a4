//! `action.yml`: its steps with a stand-in for the runner of GitHub Actions, which gives inputs in variables and reads files and lines.
#![cfg(unix)]

use crate::program::{fixtures, program};
use std::path::Path;
use std::process::Command;

struct Step {
    code: i32,
    out: String,
    summary: String,
    outputs: String,
}

fn check(folder: &Path, inputs: &[(&str, &str)]) -> Step {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("bash");
    command.arg(root.join("dist/action")).arg("check").current_dir(folder);
    let (summary, outputs) = (folder.join("summary"), folder.join("outputs"));
    let defaults = [
        ("PFNSET_BUDGETS", "budgets.toml"),
        ("PFNSET_BASELINE", ""),
        ("PFNSET_JUNIT", "verdicts.xml"),
        ("PFNSET_STRICT", "false"),
    ];
    command.env("PFNSET_PROGRAM", program()).env("GITHUB_STEP_SUMMARY", &summary).env("GITHUB_OUTPUT", &outputs);
    command.envs(defaults).envs(inputs.iter().copied());
    let done = command.output().expect("bash");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let out = String::from_utf8(done.stdout).unwrap();
    Step { code: done.status.code().unwrap(), out, summary: read(&summary), outputs: read(&outputs) }
}

#[test]
fn the_action_checks_writes_a_summary_and_annotates() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["resident-small.etl", "refset-small.etl"] {
        std::fs::copy(fixtures().join(name), folder.path().join(format!("a {name}"))).unwrap();
    }
    let budgets = "[[budget]]\nname = \"all, 100%\"\nmax = \"1 KiB\"\n";
    std::fs::write(folder.path().join("budgets.toml"), budgets).unwrap();
    let failed = check(folder.path(), &[("PFNSET_TRACES", "  a *.etl\n")]);
    assert_eq!((failed.code, failed.outputs.as_str()), (1, "code=1\n"), "{}", failed.out);
    assert!(failed.summary.contains("**a resident-small.etl: fail**"), "{}", failed.summary);
    assert!(failed.summary.contains("**a refset-small.etl: fail**"), "{}", failed.summary);
    let annotation = "::error title=a resident-small.etl%3A all%2C 100%25::all, 100%25: 11.72 MiB above max 1 KiB";
    assert!(failed.out.lines().any(|line| line == annotation), "{}", failed.out);
    let doubt = |line: &str| line.starts_with("::warning title=a refset-small.etl::") && line.contains("1,224 PFNs");
    assert!(failed.out.lines().any(doubt), "{}", failed.out);
    assert!(folder.path().join("verdicts.xml").is_file());

    std::fs::write(folder.path().join("budgets.toml"), budgets.replace("1 KiB", "1 GiB")).unwrap();
    let passes = [("PFNSET_TRACES", "a refset-small.etl")];
    assert_eq!(check(folder.path(), &passes).code, 0);
    assert_eq!(check(folder.path(), &[passes[0], ("PFNSET_STRICT", "true")]).code, 3);
    // What an input holds is no shell.
    let hostile = check(folder.path(), &[("PFNSET_TRACES", "$(touch owned);`touch owned`")]);
    assert!(hostile.code == 3 && !folder.path().join("owned").exists(), "{}", hostile.out);
    assert_eq!(check(folder.path(), &[("PFNSET_TRACES", " \n")]).code, 2);
}

/// Who can add a file, by a pull request, must not pass the budgets by its name.
#[test]
fn names_of_traces_are_no_flags() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["-h.etl", "real.etl"] {
        std::fs::copy(fixtures().join("resident-small.etl"), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("budgets.toml"), "[[budget]]\nname = \"all\"\nmax = \"1 KiB\"\n").unwrap();
    let failed = check(folder.path(), &[("PFNSET_TRACES", "*.etl")]);
    assert_eq!((failed.code, failed.outputs.as_str()), (1, "code=1\n"), "{}", failed.out);
    assert!(failed.summary.contains("**-h.etl: fail**"), "{}", failed.summary);
    // What the program prints is no command for the runner.
    let lines: Vec<&str> = failed.out.lines().collect();
    let token = lines[0].strip_prefix("::stop-commands::").expect("commands are stopped");
    let resumed = lines.iter().position(|line| *line == format!("::{token}::")).expect("and go on");
    assert!(token.len() == 32 && lines[1..resumed].iter().any(|line| line.contains("-h.etl")));
    let no_file = check(folder.path(), &[("PFNSET_TRACES", "real.etl"), ("PFNSET_PROGRAM", "true")]);
    assert_eq!(no_file.code, 2, "a program that checks nothing: {}", no_file.out);
}

#[test]
fn the_action_gives_the_script_all_that_it_reads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let (action, script) = (read("action.yml"), read("dist/action"));
    for name in ["ARCHIVES", "VERSION", "SHA256", "PROGRAM", "TRACES", "BUDGETS", "BASELINE", "JUNIT", "STRICT"] {
        let variable = format!("PFNSET_{name}");
        let input = format!("{variable}: ${{{{ inputs.{} }}}}", name.to_lowercase());
        assert!(action.contains(&input) && script.contains(&variable), "{variable}");
    }
}
