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

    // What is close to its limit is no error.
    std::fs::write(folder.path().join("budgets.toml"), budgets.replace("1 KiB", "12 MiB")).unwrap();
    let close = check(folder.path(), &[("PFNSET_TRACES", "a resident-small.etl")]);
    let annotation = "::warning title=a resident-small.etl%3A all%2C 100%25::watch: all, 100%25: ";
    assert!(close.code == 0 && close.out.contains(annotation) && !close.out.contains("::error"), "{}", close.out);

    std::fs::write(folder.path().join("budgets.toml"), budgets.replace("1 KiB", "1 GiB")).unwrap();
    let passes = [("PFNSET_TRACES", "a refset-small.etl")];
    assert_eq!(check(folder.path(), &passes).code, 0);
    // A gate is not off because somebody writes True or yes.
    for (strict, code) in
        [("true", 3), ("True", 3), ("TRUE", 3), ("False", 0), ("", 0), ("yes", 2), ("on", 2), ("1", 2), ("true ", 2)]
    {
        let step = check(folder.path(), &[passes[0], ("PFNSET_STRICT", strict)]);
        assert_eq!(step.code, code, "{strict:?}: {}", step.out);
        assert_eq!(step.out.contains("::error title=pfnset::strict must be true or false"), code == 2, "{}", step.out);
    }
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

/// `**` was one folder, so that traces above and below it were left out without a word, and `[2]` was a pattern where a file has that name.
#[test]
fn all_traces_that_a_line_names_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("out/run1/deep")).unwrap();
    for name in ["out/top.etl", "out/run1/ok.etl", "out/run1/deep/low.etl", "run[2].etl"] {
        std::fs::copy(fixtures().join("resident-small.etl"), at(name)).unwrap();
    }
    std::fs::copy(fixtures().join("refset-small.etl"), at("run2.etl")).unwrap();
    std::fs::write(at("budgets.toml"), "[[budget]]\nname = \"all\"\nmax = \"1 GiB\"\n").unwrap();
    for traces in ["out/**/*.etl", "./**/run1/../*.etl\nout/**/[ol]o[kw].etl\nout/run1/ok.etl", "out"] {
        let step = check(folder.path(), &[("PFNSET_TRACES", traces), ("GITHUB_STEP_SUMMARY", "/dev/null")]);
        let suites = std::fs::read_to_string(at("verdicts.xml")).unwrap().matches("<testsuite ").count();
        assert_eq!((step.code, suites), (0, 3), "{traces}: {}", step.out);
    }
    let step = check(folder.path(), &[("PFNSET_TRACES", "run[2].etl")]);
    assert!(step.summary.contains(r"**run\[2\].etl: pass**") && !step.summary.contains("run2.etl"), "{}", step.summary);
}

/// The old verdicts are removed before the check: what is an input, or may be one of a folder, is not taken for them.
#[test]
fn no_input_is_removed_as_old_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("runs")).unwrap();
    for name in ["a.etl", "runs/b.ETL"] {
        std::fs::copy(fixtures().join("resident-small.etl"), at(name)).unwrap();
    }
    std::fs::write(at("budgets.toml"), "[[budget]]\nname = \"all\"\nmax = \"1 GiB\"\n").unwrap();
    std::fs::write(at("base.json"), "{}").unwrap();
    for (junit, told) in [
        ("budgets.toml", "is an input"),
        ("./base.json", "is an input"),
        ("runs/../a.etl", "is an input"),
        ("runs/b.ETL", "is a trace by its name"),
    ] {
        let inputs = [("PFNSET_TRACES", "runs\na.etl"), ("PFNSET_BASELINE", "base.json"), ("PFNSET_JUNIT", junit)];
        let step = check(folder.path(), &inputs);
        assert!(step.code == 2 && step.out.contains(told) && at(junit).is_file(), "{junit}: {}", step.out);
        assert!(step.outputs.ends_with("code=2\n"), "{}", step.outputs);
    }
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

/// The step that installs, with archives in a folder, and with a stand-in for cargo where none are named.
#[test]
fn the_action_installs_what_was_asked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let shell = |line: &str| {
        let done = Command::new("bash").args(["-euc", line]).current_dir(folder.path()).output().expect("bash");
        assert!(done.status.success(), "{line}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let name = "pfnset-7.8.9-x86_64-unknown-linux-musl";
    shell(&format!(
        "mkdir -p web/{name} tools; printf '#!/bin/sh\\necho installed\\n' > web/{name}/pfnset; chmod +x web/{name}/pfnset"
    ));
    shell("printf '#!/bin/sh\\necho \"$@\" >> calls\\n' > tools/cargo; chmod +x tools/cargo");
    let digest =
        shell(&format!("cd web; tar -czf {name}.tar.gz {name}; rm -r {name}; sha256sum {name}.tar.gz | cut -d' ' -f1"));
    let install = |inputs: &[(&str, &str)]| {
        let tools = format!("{}:{}", at("tools").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("bash");
        command.arg(root.join("dist/action")).arg("install").current_dir(folder.path());
        command
            .env("PATH", tools)
            .env("RUNNER_TEMP", at("temp"))
            .env("GITHUB_PATH", at("path"))
            .env("RUNNER_OS", "Linux");
        command.env("GITHUB_ACTION_PATH", root);
        for input in ["PFNSET_ARCHIVES", "PFNSET_VERSION", "PFNSET_SHA256"] {
            command.env(input, "");
        }
        let done = command.envs(inputs.iter().copied()).output().expect("bash");
        (done.status.code().unwrap(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let web = format!("file://{}", at("web").display());
    let whole = [("PFNSET_ARCHIVES", web.as_str()), ("PFNSET_VERSION", "7.8.9"), ("PFNSET_SHA256", digest.trim())];
    assert_eq!(install(&whole), (0, String::new()));
    let path = std::fs::read_to_string(at("path")).unwrap();
    assert_eq!(shell(&format!("PATH={}:$PATH pfnset", path.trim())), "installed\n");
    // Another file in the archive's place, and what archives need.
    for (input, value, says) in [
        ("PFNSET_SHA256", "0".repeat(64).as_str(), "has another digest"),
        ("PFNSET_SHA256", "", "sha256 is required with archives"),
        ("PFNSET_VERSION", "", "version is required with archives"),
        ("RUNNER_OS", "macOS", "there is no archive for macOS"),
    ] {
        let (code, out) = install(&[&whole[..], &[(input, value)]].concat());
        assert!(code == 2 && out.contains(says), "{input}={value}: {code} {out}");
    }
    assert_eq!(std::fs::read_to_string(at("path")).unwrap(), path, "nothing else was installed");
    // Without archives cargo builds it: the action's own sources, or a version.
    assert_eq!(install(&[]).0, 0);
    assert_eq!(install(&[("PFNSET_VERSION", "7.8.9")]).0, 0);
    let to = at("temp/pfnset").display().to_string();
    let calls = std::fs::read_to_string(at("calls")).unwrap();
    let own = format!("install --path {} --locked --root {to}", root.display());
    assert_eq!(calls, format!("{own}\ninstall pfnset --locked --version 7.8.9 --root {to}\n"));
}

/// Nobody wants to install one tool after the other.
#[test]
fn a_release_names_all_tools_that_are_missing() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    for tool in ["bash", "sed", "head", "dirname", "date", "git", "cat"] {
        let found =
            std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|at| at.join(tool)).find(|at| at.is_file());
        found.into_iter().for_each(|found| std::os::unix::fs::symlink(found, folder.path().join(tool)).unwrap());
    }
    let rustc = folder.path().join("rustc");
    std::fs::write(&rustc, "#!/bin/sh\necho /nowhere\n").unwrap();
    std::fs::set_permissions(&rustc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("bash");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/build")).arg("--check");
    let ran = command.env("PATH", folder.path()).env("SOURCE_DATE_EPOCH", "0").output().expect("bash");
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{told}");
    for tool in
        ["x86_64-unknown-linux-musl", "musl-gcc", "x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-objcopy", "python3"]
    {
        assert!(
            told.contains(&format!("no {tool}")) || told.contains(&format!("no Rust for {tool}")),
            "{tool}: {told}"
        );
    }
}
