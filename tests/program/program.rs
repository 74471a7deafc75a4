//! How the tests run the program: in a folder of its own, without the user's settings. `PFNSET_TEST_PROGRAM` names another
//! program to be tested: the one that is shipped (`.ci/run`), or a script that runs `pfnset.exe` with its arguments under Wine
//! (`.ci/windows`, which also says `PFNSET_TEST_SYSTEM=windows`).

use assert_cmd::Command;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of the traces that are kept with the source.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The program.
pub fn program() -> OsString {
    std::env::var_os("PFNSET_TEST_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_pfnset").into())
}

/// True where Wine runs the program.
fn is_under_wine() -> bool {
    std::env::var_os("PFNSET_TEST_SYSTEM").is_some_and(|system| system == "windows")
}

/// True where the program is one for Windows; says aloud what is not tested then and why.
pub fn skipped_on_windows(test: &str, reason: &str) -> bool {
    let is_windows = cfg!(windows) || is_under_wine();
    if is_windows {
        // Not eprintln, which tests capture.
        writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}").expect("standard error");
    }
    is_windows
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// The program with these arguments, in the folder of the fixtures.
pub fn pfnset(arguments: &[&str]) -> Command {
    Command::from_std(command(arguments))
}

/// Variables that change what is printed. `PFNSET_CHARACTERS` is not among them: it belongs to a script for Wine.
const SETTINGS: [&str; 10] = [
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "TERM",
    "RUST_BACKTRACE",
    "LC_ALL",
    "LC_CTYPE",
    "LANG",
    "_NT_SYMBOL_PATH",
];

/// The same to be spawned.
pub fn command(arguments: &[&str]) -> std::process::Command {
    let mut command = std::process::Command::new(program());
    for setting in SETTINGS {
        command.env_remove(setting);
    }
    command.current_dir(fixtures()).args(arguments);
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Ran {
    finish(&mut pfnset(arguments))
}

/// Runs a command to its end, which must not be a signal or a panic.
pub fn finish(command: &mut Command) -> Ran {
    let mut output = command.output().expect("the program starts");
    // About one of six thousand programs does not start under Wine: code 1 without a word. Where pfnset ends so, it does so again.
    if is_under_wine() && output.status.code() == Some(1) && output.stdout.is_empty() && output.stderr.is_empty() {
        // Not eprintln, which tests capture.
        writeln!(std::io::stderr(), "a run without a word under Wine: once more").expect("standard error");
        output = command.output().expect("the program starts");
    }
    let code = output.status.code().expect("the program ends by itself");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let ran = Ran { code, out: text(output.stdout), err: text(output.stderr) };
    assert!(!ran.err.contains("panicked") && code != 101, "{}", ran.err);
    ran
}

/// Standard output of a run that must end well and quietly, but for records that our fixtures lack.
pub fn out(arguments: &[&str]) -> String {
    let ran = run(arguments);
    assert_eq!((ran.code, beside_losses(&ran.err).as_str()), (0, ""), "{arguments:?}");
    ran.out
}

/// What stands on standard error beside what makes numbers of fixtures wrong: also `-q` leaves this.
pub fn beside_losses(err: &str) -> String {
    const LOSSES: [&str; 18] = [
        "no record of threads",
        "repurposed since boot fall",
        " PFNs between the first",
        "of context switches is broken",
        "no completion is known",
        "after the last context switch",
        "THE SESSION WAS NEVER STOPPED",
        "trims were not recorded",
        "could not be attributed",
        "only what changed during the trace is known",
        "which differs by more than a tenth",
        "what is tracked",
        "the account differs",
        "events and end rundown disagree",
        "names no process",
        "have no ReadyThread record before them",
        "of which no event tells the name",
        "is in the trace, beside",
    ];
    let is_loss = |line: &&str| LOSSES.iter().any(|loss| line.contains(loss));
    err.lines().filter(|line| !is_loss(line)).collect()
}

/// All commands, as the help lists them.
pub fn commands() -> Vec<String> {
    let help = out(&["--help"]);
    let (_, list) = help.split_once("\nCommands:\n").expect("a list of commands");
    let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Those that read a trace and print tables.
pub fn trace_commands() -> Vec<String> {
    let reads = |command: &String| {
        let help = out(&["help", command]);
        help.contains("<TRACE>") && help.contains("--format <")
    };
    let found: Vec<String> = commands().into_iter().filter(reads).collect();
    assert!(found.len() >= 5, "{found:?}");
    found
}
