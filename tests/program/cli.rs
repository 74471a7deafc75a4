//! The program as a whole: exit codes, messages, streams, colors, threads.

use crate::program::{Ran, command, finish, fixtures, out, pfnset, run, skipped_on_windows, trace_commands};
use crate::random_cases::one_in;
use etl_writer::file_of;
use etl_writer::hostile::flipped;
use etl_writer::{Compression, Ptr::P8, Rec, Session, Trace};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

const TRACE: &str = "resident-small.etl";
const REFSET: &str = "refset-small.etl";
const CPU: &str = "cpu-compressed.etl";
const FAULTS: &str = "faults-x86.etl";
const STACKS: &str = "stacks-keys.etl";

/// A trace that lost events and a buffer.
fn lossy() -> tempfile::NamedTempFile {
    let session = Session { buffer_size: 0x400, events_lost: 41, buffers_lost: 1, ..Session::windows10() };
    let recs = (0..200).map(|n| Rec::perf(P8, 0x0f2e, 2, vec![0; 16]).at(1_000_000_000 + n * 1_000));
    file_of(&Trace::new(session).push_all(recs).lose_buffers(&[5]).finish())
}

/// One line on standard error, nothing on standard output.
fn assert_refused(ran: &Ran, code: i32, says: &str) {
    assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{ran:?}");
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.starts_with("pfnset: ") && ran.err.contains(says), "{}", ran.err);
}

#[test]
fn what_cannot_be_read_is_code_3_and_one_line() {
    let text = file_of(b"Hello, this is a letter and no trace at all. It goes on for more than one buffer header.\n");
    let empty = file_of(b"");
    let cut = file_of(&std::fs::read(fixtures().join(TRACE)).unwrap()[..0x90]);
    let folder = tempfile::tempdir().unwrap();
    for (path, says) in [
        (text.path(), "is no .etl file"),
        (empty.path(), "it is empty"),
        (cut.path(), "it ends after 144 bytes"),
        (folder.path(), "it is a directory"),
        (&folder.path().join("none.etl"), "cannot read"),
    ] {
        for command in &one_in(1, trace_commands()) {
            let ran = run(&[command, path.to_str().unwrap()]);
            assert_refused(&ran, 3, says);
            assert!(ran.err.contains(path.to_str().unwrap()), "{}", ran.err);
        }
    }
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_code_3_and_do_not_wait() {
    if skipped_on_windows("devices_and_pipes_are_code_3_and_do_not_wait", "pipes with names are no files there") {
        return;
    }
    assert_refused(&run(&["info", "/dev/null"]), 3, "not a regular file");
    // A pipe into which nobody writes: opening it would wait for ever.
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = pfnset(&["info", pipe.to_str().unwrap()]);
    assert_refused(&finish(command.timeout(std::time::Duration::from_secs(20))), 3, "not a regular file");
}

#[test]
fn a_trace_without_the_events_that_a_command_needs_is_code_4() {
    let trace = lossy();
    for (command, keyword) in
        [("resident", "Memory"), ("pages", "Memory"), ("refset", "ReferenceSet"), ("memory", "MemoryInfo")]
    {
        let ran = run(&[command, trace.path().to_str().unwrap()]);
        assert_eq!((ran.code, ran.out.as_str()), (4, ""));
        assert!(
            ran.err.contains(&format!("keyword {keyword}")) && ran.err.contains("wpr -start"),
            "the remedy: {}",
            ran.err
        );
    }
}

#[test]
fn wrong_usage_is_code_2() {
    for arguments in [
        &["info"][..],
        &["nonsense", TRACE],
        &["info", TRACE, "--format", "xml"],
        &["info", TRACE, "-j", "0"],
        &["info", TRACE, "--color", "maybe"],
        &["events", TRACE, "--unknown"],
        &["completions", "tcsh"],
        &[],
    ] {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains("Usage") || ran.err.contains("possible values") || ran.err.contains("invalid value"));
    }
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("none").join("out.txt");
    assert_refused(&run(&["info", TRACE, "-o", nowhere.to_str().unwrap()]), 2, "cannot write");
}

/// What follows on the verdict with which `info` begins; of other commands everything.
fn below_verdict(text: &str) -> &str {
    if text.starts_with("Verdict: ") { text.split_once("\n\n").map_or("", |(_, rest)| rest) } else { text }
}

#[test]
fn a_damaged_trace_is_read_and_strict_makes_it_code_3() {
    for command in &one_in(1, trace_commands()) {
        let sound = |trace: &&str| run(&[command, trace, "--strict", "-q"]).code == 0;
        let trace = [TRACE, "refset-proved.etl", CPU, FAULTS, STACKS]
            .into_iter()
            .find(sound)
            .expect("a fixture with the events that it needs");
        let whole = std::fs::read(fixtures().join(trace)).unwrap();
        // Compressed buffers are short.
        let cut = file_of(&whole[..whole.len() - if [CPU, FAULTS, STACKS].contains(&trace) { 0x500 } else { 0x5000 }]);
        let path = cut.path().to_str().unwrap();
        let ran = run(&[command, path]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        assert!(
            // The header of some fixtures says how many buffers there were.
            below_verdict(&ran.out).starts_with("! THE FILE IS CUT: it ends inside of its last buffer.")
                || trace == FAULTS && ran.out.starts_with("! THE FILE IS CUT: it holds 8 buffers of the 9")
                || trace == STACKS && ran.out.starts_with("! THE FILE IS CUT: it holds 10 buffers of the 11"),
            "before any table: {}",
            ran.out
        );
        let strict = run(&[command, path, "--strict"]);
        assert_eq!(strict.code, 3);
        // Strictly asked, `info` says what the checks of all commands found too.
        assert!(strict.out == ran.out || command == "info", "{}", strict.out);
    }
}

#[test]
fn losses_are_loud_in_every_form_and_strict_makes_them_code_3() {
    let trace = lossy();
    let path = trace.path().to_str().unwrap();
    for command in ["info", "events"] {
        let table = run(&[command, path]);
        assert_eq!((table.code, table.err.as_str()), (0, ""));
        let warning = "! DATA WAS LOST while recording: 41 events, 1 buffer,";
        assert!(below_verdict(&table.out).starts_with(warning), "{}", table.out);
        for format in ["json", "csv"] {
            let ran = run(&[command, path, "--format", format]);
            assert_eq!(ran.code, 0);
            assert!(ran.err.starts_with("pfnset: warning: DATA WAS LOST"), "{}", ran.err);
            assert!(!ran.out.starts_with("! "));
            let quiet = run(&[command, path, "--format", format, "-q"]);
            // What is lost is no note.
            let said =
                "pfnset: warning: DATA WAS LOST while recording: 41 events, 1 buffer, 1 missing sequence number\n";
            assert_eq!((quiet.code, quiet.err.as_str(), &quiet.out), (0, said, &ran.out));
        }
        assert_eq!(run(&[command, path, "--strict"]).code, 3);
    }
}

/// Writing over the trace would destroy it, while it is mapped.
#[test]
fn the_trace_is_never_overwritten() {
    let whole = std::fs::read(fixtures().join(TRACE)).unwrap();
    let copy = file_of(&whole);
    let path = copy.path().to_str().unwrap();
    for command in &trace_commands() {
        assert_refused(&run(&[command, path, "-o", path]), 2, "is the trace itself");
    }
    assert_eq!(std::fs::read(copy.path()).unwrap(), whole);
}

/// Reads one line of a large output and closes the pipe. JSON and CSV writers hide the system's "broken pipe".
#[test]
fn a_closed_pipe_ends_quietly() {
    // More kinds than any pipe holds.
    let kind = |n: u16| Rec::event(P8, [(n >> 8) as u8; 16], n, 0, vec![]).at(1_000_000_000 + u64::from(n));
    let trace = file_of(&Trace::new(Session::windows10()).push_all((0..5_000).map(kind)).finish());
    for format in ["table", "json", "csv"] {
        let mut child = command(&["events", trace.path().to_str().unwrap(), "--format", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::with_capacity(256, child.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        drop(reader);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(0), ""), "{format}");
        assert!(!line.is_empty());
    }
}

#[test]
fn a_pipe_that_is_closed_from_the_start_ends_quietly() {
    for arguments in [
        &["completions", "bash"][..],
        &["info", TRACE],
        &["info", TRACE, "--format", "json"],
        &["resident", TRACE],
        &["pages", TRACE, "--format", "csv"],
        &["pages", TRACE],
        &["refset", REFSET],
        &["--help"],
    ] {
        assert_eq!(into_a_closed_pipe(arguments), (Some(0), String::new()), "{arguments:?}");
    }
}

/// `pfnset check … | true`: nobody reads the table, and the build fails all the same.
#[test]
fn a_verdict_reaches_the_exit_code_through_a_closed_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let budgets = folder.path().join("budgets.toml");
    std::fs::write(&budgets, "[[budget]]\nname = \"a\"\nmax = \"1 pages\"\n").unwrap();
    let cut = folder.path().join("cut.etl");
    let whole = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    std::fs::write(&cut, &whole[..whole.len() - 0x5000]).unwrap();
    let dataset = folder.path().join("dataset");
    let [budgets, cut, dataset] = [&budgets, &cut, &dataset].map(|path| path.to_str().unwrap());
    let runs: [(&[&str], i32); 13] = [
        (&["check", TRACE, "--budgets", budgets, "-q"], 1),
        (&["check", TRACE, "--budgets", budgets, "-q", "--format", "json"], 1),
        (&["diff", TRACE, REFSET, "-q"], 1),
        (&["info", cut, "--strict", "-q"], 3),
        (&["resident", cut, "--strict", "-q", "--format", "csv"], 3),
        (&["refset", REFSET, "--verify", "--max-residue", "1", "-q"], 1),
        (&["refset", REFSET, "--verify", "--max-residue", "1", "-q", "--format", "json"], 1),
        (&["info", "--each", TRACE, cut, "--strict", "-q"], 3),
        (&["info", "--each", TRACE, cut, "--strict", "-q", "--format", "jsonl"], 3),
        (&["refset", "--each", REFSET, TRACE, "-q", "--format", "csv"], 4),
        (&["pages", cut, "--strict", "-q"], 3),
        (&["pages", cut, "--strict", "-q", "--format", "jsonl"], 3),
        (&["report", cut, "--strict", "-q"], 3),
    ];
    for (arguments, code) in one_in(1, runs.to_vec()) {
        let open = finish(&mut pfnset(arguments));
        assert_eq!(open.code, code, "{arguments:?} {}", open.err);
        let (closed, err) = into_a_closed_pipe(arguments);
        assert_eq!(closed, Some(code), "{arguments:?}");
        // What makes numbers wrong is said with -q too, and nothing of the pipe.
        assert!(err.lines().all(|line| line.starts_with("pfnset: warning: ")), "{arguments:?}: {err}");
    }
    // Nor does it keep traces from being exported.
    let (code, err) = into_a_closed_pipe(&["export", "none.etl", TRACE, REFSET, "--out", dataset]);
    let unread = err.lines().filter(|line| line.contains("could not be read")).count();
    assert_eq!((code, unread), (Some(3), 1), "{err}");
    assert_eq!(std::fs::read_dir(Path::new(dataset).join("traces")).unwrap().count(), 3);
}

/// Exit code and messages of a run whose output nobody reads.
pub(crate) fn into_a_closed_pipe(arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = command(arguments);
    command.stdout(writer).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn colors_follow_the_flag_and_no_color() {
    let colored = |command: &mut assert_cmd::Command| finish(command).out.contains('\u{1b}');
    assert!(!colored(&mut pfnset(&["info", TRACE])), "not into a pipe");
    assert!(colored(&mut pfnset(&["info", TRACE, "--color", "always"])));
    assert!(!colored(&mut pfnset(&["info", TRACE, "--color", "never"])));
    assert!(colored(pfnset(&["info", TRACE]).env("CLICOLOR_FORCE", "1")));
    assert!(!colored(pfnset(&["info", TRACE]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1")));
    assert!(colored(pfnset(&["info", TRACE, "--color", "always"]).env("NO_COLOR", "1")), "a flag is stronger");
    // Without its color codes the text is the same.
    let plain = out(&["info", TRACE]);
    let colors = finish(&mut pfnset(&["info", TRACE, "--color", "always"])).out;
    assert_eq!(anstream::adapter::strip_str(&colors).to_string(), plain);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out");
    assert_eq!(out(&["info", TRACE, "-o", file.to_str().unwrap()]), "");
    assert_eq!(std::fs::read_to_string(file).unwrap(), plain);
}

/// Names in a trace must not clear the screen of whoever looks at it.
#[test]
fn control_characters_of_a_trace_do_not_reach_the_terminal() {
    let session = Session { logger_name: "a\u{1b}[2Jb\nc".into(), ..Session::windows10() };
    let schema = etl_writer::tracelogging_schema("x\u{1b}]0;title\u{7}y\n", &[]);
    let traits = b"\x0c\0p\x1b[31mq\0";
    let rec = Rec::event(P8, [9; 16], 0, 0, vec![]).with_item(11, &schema).with_item(12, traits).at(1_000_000_001);
    let trace = file_of(&Trace::new(session).push(rec).finish());
    for command in ["info", "events"] {
        let ran = run(&[command, trace.path().to_str().unwrap(), "--color", "never"]);
        let raw = finish(&mut pfnset(&[command, trace.path().to_str().unwrap(), "--color", "always"])).out;
        for hidden in ["\u{1b}[2J", "\u{1b}]0", "\u{7}", "\u{1b}[31m"] {
            assert!(!raw.contains(hidden), "{command}: {hidden:?}");
        }
        assert_eq!(ran.code, 0);
    }
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let session = Session { buffer_size: 0x1000, ..Session::windows8().merged() };
    let rec = |n: u64| Rec::perf(P8, 0x0f00 + (n * 7 % 90) as u16, 2, vec![n as u8; 40]).at(1_000_000_000 + n);
    let bytes = Trace::new(session).push_all((0..4_000).map(|n| rec(n).on((n % 5) as u16))).finish();
    let (sound, damaged) = (file_of(&bytes), file_of(&flipped(&bytes, 40, 3)));
    let lossy = lossy();
    let paths = [sound.path(), damaged.path(), lossy.path()].map(|path| path.to_str().unwrap());
    for path in paths.into_iter().chain([TRACE, "refset-small.etl"]) {
        for arguments in [&["info"][..], &["events"], &["events", "--digest"], &["resident"]] {
            let formats = if arguments.len() == 2 { &["table", "json"][..] } else { &["table", "json", "csv"] };
            for format in one_in(2, formats.to_vec()) {
                let run = |threads| run(&[arguments, &[path, "--format", format, "-j", threads][..]].concat());
                let one = run("1");
                assert!(one.code == 0 || (one.code == 4 && arguments == ["resident"]), "{one:?}");
                for threads in one_in(2, vec!["2", "5"]) {
                    assert_eq!(one, run(threads), "{path} {arguments:?} {format}");
                }
            }
        }
    }
}

#[test]
fn compressed_traces_of_every_format_are_read() {
    for format in [Compression::Xpress, Compression::Lznt1, Compression::Huffman] {
        let session = Session { buffer_size: 0x1000, ..Session::windows10().compressed(format) };
        let rec = |n: u64| Rec::perf(P8, 0x0f2e, 2, vec![0; 16]).at(1_000_000_000 + n);
        let trace = file_of(&Trace::new(session).push_all((0..1_000).map(rec)).finish());
        let text = out(&["events", trace.path().to_str().unwrap(), "--format", "csv"]);
        assert!(text.contains(",1000,32000,"), "{text}");
    }
}

#[test]
fn what_a_form_has_no_room_for_is_an_error() {
    for form in ["csv", "jsonl", "markdown"] {
        assert_refused(
            &run(&["events", TRACE, "--digest", "--format", form]),
            2,
            "--digest is in the forms table and json",
        );
    }
}

#[test]
fn wrong_numbers_are_answered_with_what_is_right() {
    for (arguments, says) in [
        (&["info", TRACE, "-j", "abc"][..], "expected a number from 1 to 1024"),
        (&["info", TRACE, "-j", "1025"], "expected a number from 1 to 1024"),
        (&["resident", TRACE, "--top", "ten"], "expected a whole number"),
        (&["resident", TRACE, "--explain", "5", "--process", "x"], "expected the id of a process"),
    ] {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.err.contains(says)), (2, true), "{}", ran.err);
        assert!(!ran.err.contains("invalid digit"), "{}", ran.err);
    }
}

#[test]
fn a_flag_of_other_commands_is_told_and_not_taken_for_a_value() {
    let ran = run(&["info", TRACE, "--group-by", "x"]);
    assert_eq!((ran.code, ran.err.contains("-- --group-by")), (2, false), "{}", ran.err);
    assert!(ran.err.contains("'--group-by' is a flag of pfnset resident, diff, refset"), "{}", ran.err);
    let ran = run(&["resident", TRACE, "--groupby", "x"]);
    assert!(ran.err.contains("a similar argument exists: '--group-by'"), "{}", ran.err);
}

#[test]
fn an_address_in_the_place_of_a_pfn_is_told() {
    let explain = |number: &str| run(&["resident", TRACE, "--explain", number]);
    for address in ["0x1d0815ce000", "0x7ff6103b0000", "0xfffff80120001000"] {
        assert_refused(&explain(address), 2, "--process PID");
        assert!(explain(address).err.contains("no PFN is that large, so this is a virtual address"));
    }
    assert_refused(&explain("0x75a0000"), 2, "if it is a virtual address, name its process: --process PID");
    assert!(!explain("0xc1b").err.contains("--process"), "this may well be a PFN");
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_named() {
    if skipped_on_windows("what_cannot_be_written_is_named", "no /dev/full there") {
        return;
    }
    for arguments in
        [&["resident", TRACE][..], &["info", TRACE, "--format", "json"], &["pages", TRACE, "--format", "csv"]]
    {
        assert_refused(&run(&[arguments, &["-o", "/dev/full"]].concat()), 2, "cannot write /dev/full: No space left");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(arguments).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.starts_with("pfnset: cannot write standard output: No space left"), "{err}");
    }
    for arguments in [&["--help"][..], &["--version"], &["help", "info"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert_eq!(command(arguments).stdout(full).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn completions_for_four_shells() {
    for (shell, sign) in [
        ("bash", "complete -F _pfnset"),
        ("zsh", "#compdef pfnset"),
        ("fish", "complete -c pfnset"),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName 'pfnset'"),
    ] {
        let script = out(&["completions", shell]);
        assert!(script.contains(sign) && script.contains("digest"), "{shell}");
        // Where the shell is there, it must be able to read the script.
        let parses = match shell {
            "bash" => Command::new("bash").args(["-n", "-c", &script]).output(),
            "zsh" => Command::new("zsh").args(["-n", "-c", &script]).output(),
            "fish" => Command::new("fish").args(["--no-execute", "-c", &script]).output(),
            _ => continue,
        };
        match parses {
            Ok(output) => assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => eprintln!("SKIPPED: no {shell} to parse its completions"),
        }
    }
}

#[test]
fn a_file_cut_between_two_buffers_is_called_cut() {
    let whole = std::fs::read(fixtures().join("resident-small.etl")).expect("the fixture");
    let buffer = u32::from_le_bytes(*whole.first_chunk().expect("a buffer header")) as usize;
    let folder = tempfile::tempdir().expect("a folder");
    let cut = folder.path().join("cut.etl");
    std::fs::write(&cut, whole.get(..5 * buffer).expect("six buffers")).expect("room for a trace");
    let name = cut.to_str().expect("a plain name");
    let ran = run(&["resident", name]);
    assert!(ran.out.starts_with("! THE FILE IS CUT: it holds 5 buffers of the 6"), "{}", ran.out);
    assert_eq!(run(&["resident", name, "--strict"]).code, 3);
}

#[test]
fn a_residue_is_a_number_of_percent() {
    for wrong in ["nan", "-1", "much"] {
        let ran = run(&["refset", "refset-small.etl", "--verify", &format!("--max-residue={wrong}")]);
        assert_eq!(ran.code, 2, "{wrong}");
    }
    let ran = run(&["refset", "refset-small.etl", "--verify", "--where", "process=x"]);
    assert_eq!(ran.code, 2, "what is proved is the whole account");
}

#[test]
fn conditions_follow_the_rules_that_are_asked_for() {
    let count = |rules: &str| {
        let conditions = ["--where", "category=SystemPage", "--classification", rules, "--format", "csv"];
        let ran = run(&[&["resident", "resident-small.etl"][..], &conditions].concat());
        ran.out.lines().nth(1).expect("a row").split(',').nth(2).map(str::to_owned)
    };
    assert_eq!((count("corrected").as_deref(), count("wpa").as_deref()), (Some("30"), Some("78")));
}

#[test]
fn lines_on_standard_error_fit_columns_and_stay_whole_without() {
    let lossy = lossy();
    let path = lossy.path().to_str().unwrap();
    let runs: [&[&str]; 4] = [
        &["events", path, "--format", "csv"],
        &["refset", path],
        &["resident", TRACE, "--where", "category=Imge"],
        &["resident", TRACE, "--explain", "a text that is no number, and a long one at that"],
    ];
    for arguments in runs {
        let whole = run(arguments).err;
        let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest(&whole) > 60, "{arguments:?}: {whole}");
        let fitted = finish(pfnset(arguments).env("COLUMNS", "60")).err;
        assert!(longest(&fitted) <= 60, "{arguments:?}: {fitted}");
        let words = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(words(&whole), words(&fitted), "{arguments:?}");
    }
}
