//! Budgets of allocations: values are those of `allocations`, and what nobody tells is not 0.

use crate::program::{fixtures, out, run};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::{file, memory, pool};
use etl_writer::{Ptr::P8, Rec, Session, Trace, file_of};
use serde_json::Value;
use std::fs;

const KEYS: &str = "stacks-keys.etl";
const X86: &str = "alloc-x86.etl";

fn budget(analysis: &str, measure: &str, rest: &str) -> String {
    format!("[[budget]]\nname = \"one\"\nanalysis = \"{analysis}\"\nmeasure = \"{measure}\"\n{rest}\n")
}

fn checked(trace: &str, budgets: &str, more: &[&str]) -> crate::program::Ran {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), budgets).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    run(&[&["check", trace, "--budgets", path, "-q", "--format", "json"], more].concat())
}

/// The one budget's result, and the exit code.
fn judged(trace: &str, budgets: &str) -> (i32, Value) {
    let ran = checked(trace, budgets, &[]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (ran.code, json["traces"][0]["budgets"][0].clone())
}

/// What `allocations` says of all that meets a condition.
fn allocations(trace: &str, of: &str, condition: Option<&str>) -> Value {
    let conditions: Vec<&str> = condition.iter().flat_map(|condition| ["--where", condition]).collect();
    let json = out(&[&["allocations", trace, "--of", of, "-q", "--format", "json"], &conditions[..]].concat());
    serde_json::from_str(&json).expect("JSON")
}

#[test]
fn values_are_those_of_allocations() {
    let mut compared = 0;
    for (trace, analysis, condition) in [
        (KEYS, "heap", None),
        (KEYS, "heap", Some(("process", "Work er.exe (104)"))),
        (KEYS, "heap", Some(("function", "*ntdll*"))),
        (KEYS, "commit", Some(("process", "Work er.exe*"))),
        (X86, "pool", Some(("tag", "Ntf?"))),
        (X86, "heap", None),
    ] {
        let limit = condition.map(|(name, patterns)| format!("where.{name} = \"{patterns}\"\n")).unwrap_or_default();
        let condition = condition.map(|(name, patterns)| format!("{name}={patterns}"));
        let known = allocations(trace, analysis, condition.as_deref());
        let number = |key: &str| known["total"][key].as_i64().expect("a number");
        let seconds = known["window"]["stop_s"].as_f64().unwrap() - known["window"]["start_s"].as_f64().unwrap();
        let growth = (number("at_end_bytes") - number("at_start_bytes")).max(0) as f64 * 60.0 / seconds;
        for (measure, wanted) in [
            ("outstanding", number("at_end_bytes") as f64),
            ("peak", number("peak_bytes") as f64),
            ("growth_per_minute", growth),
        ] {
            let (_, result) = judged(trace, &budget(analysis, measure, &format!("{limit}max = \"900000 MiB\"")));
            assert_eq!(result["analysis"], analysis);
            assert_eq!(result["unit"], "bytes");
            if trace == KEYS && measure == "growth_per_minute" {
                let reason = result["reason"].as_str().expect("a reason");
                assert!(result["verdict"] == "invalid" && reason.contains("shorter than a second"), "{result}");
                continue;
            }
            if result["verdict"] == "invalid" {
                assert!(measure != "growth_per_minute" && analysis != "heap", "{trace} {measure} {result}");
                assert!(
                    result["reason"].as_str().unwrap().contains(if trace == KEYS {
                        "nobody tells what"
                    } else {
                        "growth_per_minute instead"
                    }),
                    "{result}"
                );
                continue;
            }
            assert_eq!(result["verdict"], "pass", "{result}");
            let value = result["value_bytes"].as_f64().unwrap();
            assert!(
                (value - wanted).abs() <= 1.0 + wanted * 1e-6,
                "{trace} {analysis} {measure}: {value}, not {wanted}"
            );
            assert!(value > 0.0 || measure == "growth_per_minute", "{trace} {analysis} {measure} {limit}");
            assert_eq!(result["value_pages"], Value::Null);
            compared += 1;
        }
    }
    assert!(compared > 9, "{compared}");
}

#[test]
fn a_limit_that_is_broken_names_what_grew() {
    let (code, result) = judged(KEYS, &budget("heap", "outstanding", "max = \"1 KiB\""));
    assert_eq!((code, &result["verdict"]), (1, &"fail".into()));
    assert_eq!(result["grown_by"][0], "process");
    let parts: i64 = result["grown"].as_array().unwrap().iter().map(|row| row["value"].as_i64().unwrap()).sum();
    assert_eq!(Some(parts), result["value"].as_i64(), "two processes hold all of it");
}

#[test]
fn a_baseline_of_another_kind_has_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("baseline.json");
    let saved = saved.to_str().unwrap();
    let of = |measure: &str| budget("heap", measure, "max_growth = \"1 %\"");
    assert_eq!(checked(KEYS, &of("outstanding"), &["--save-baseline", saved]).code, 0);
    let same = checked(KEYS, &of("outstanding"), &["--baseline", saved]);
    assert_eq!(same.code, 0, "{same:?}");
    let other = checked(KEYS, &of("peak"), &["--baseline", saved]);
    assert_eq!(other.code, 3, "{other:?}");
    assert!(other.out.contains("the baseline has no such measure"), "{other:?}");
}

/// A few records that do not fit are a warning, as for `allocations --strict` and the table of codes; the end rundown agrees.
#[test]
fn records_that_do_not_fit_are_judged_as_elsewhere() {
    let (code, result) = judged(X86, &budget("commit", "growth_per_minute", "max = \"900000 MiB\""));
    assert_eq!((code, &result["verdict"]), (0, &"pass".into()), "{result}");
    assert_eq!(run(&["allocations", X86, "--of", "commit", "--strict", "-q"]).code, 0);
}

/// Half of the commit that the kernel lists is in no record: that is no check that passed.
#[test]
fn commit_far_from_the_end_rundown_is_no_value() {
    const HALF: &str = "refset-small.etl";
    for measure in ["outstanding", "peak", "growth_per_minute"] {
        let (code, result) = judged(HALF, &budget("commit", measure, "max = \"20 MiB\""));
        assert_eq!((code, &result["verdict"]), (3, &"invalid".into()), "{result}");
    }
    let (_, result) = judged(HALF, &budget("commit", "outstanding", "max = \"20 MiB\""));
    let reason = result["reason"].as_str().expect("a reason");
    assert!(reason.contains("16,764,928 bytes by the records and 31,438,848 bytes by the end rundown"), "{reason}");
    let strict = run(&["allocations", HALF, "--of", "commit", "--strict", "-q", "--format", "csv"]);
    assert!(strict.code == 3 && strict.err.contains("differs by more than a tenth"), "{strict:?}");
    // Less than a tenth is a note.
    let small = run(&["allocations", "resident-small.etl", "--of", "commit", "--strict", "--format", "csv"]);
    assert!(small.code == 0 && small.err.contains("commit at the end differs from the end rundown in"), "{small:?}");
}

#[test]
fn what_nobody_tells_is_not_a_number() {
    for (trace, analysis, measure, rest, reason) in [
        (KEYS, "commit", "outstanding", "", "nobody tells what"),
        (X86, "pool", "peak", "", "no pool snapshot"),
        (X86, "heap", "peak", "where.function = \"*x*\"", "no record has a stack"),
        ("resident-small.etl", "pool", "outstanding", "", "the trace holds no pool events"),
    ] {
        let (code, result) = judged(trace, &budget(analysis, measure, &format!("max = \"900000 MiB\"\n{rest}")));
        assert_eq!((code, &result["verdict"]), (3, &"invalid".into()), "{result}");
        assert!(result["reason"].as_str().unwrap().contains(reason), "{result}");
    }
    // The second ran, and has no record of heap blocks.
    for process in ["nobody.exe", "app.exe"] {
        let limit = format!("max = \"900000 MiB\"\nwhere.process = \"{process}\"");
        let (code, result) = judged(KEYS, &budget("heap", "peak", &limit));
        assert_eq!((code, &result["verdict"]), (1, &"no match".into()), "{result}");
    }
    // A part of what nobody knows.
    let share =
        |limit: &str| judged(KEYS, &budget("commit", "peak", &format!("{limit}\nwhere.process = \"tool.exe\"")));
    let (code, result) = share("max = \"10 %\"");
    assert_eq!(
        (code, &result["verdict"], result["limits"].as_array().map(Vec::len)),
        (3, &"invalid".into(), Some(0)),
        "{result}"
    );
    assert!(result["reason"].as_str().unwrap().contains("all is not known: nobody tells what"), "{result}");
    assert_eq!(share("max = \"900000 MiB\"").1["verdict"], "pass");
    assert_eq!(share("max = \"1 KiB\"\nmin = \"1 %\"").1["verdict"], "fail", "for certain");
}

/// A limit on a function passed without a word, though pieces without a stack can be of that function.
#[test]
fn a_budget_of_a_function_says_what_has_no_stack() {
    let of_function = budget("heap", "peak", "where.function = \"*\"\nmax = \"1 GiB\"");
    let (code, result) = judged(KEYS, &of_function);
    assert_eq!((code, &result["verdict"]), (0, &"pass".into()), "{result}");
    let warnings = result["warnings"].to_string();
    assert!(warnings.contains("3 of 23 pieces (") && warnings.contains("without a stack"), "{result}");
    let (_, of_all) = judged(KEYS, &budget("heap", "peak", "max = \"1 GiB\""));
    assert!(!of_all["warnings"].to_string().contains("without a stack"), "{of_all}");
}

#[test]
fn dimensions_of_another_kind_are_refused() {
    for (analysis, rest, says) in [
        ("commit", "where.tag = \"Ntf\"", "tag is one of analysis = \"pool\""),
        ("pool", "where.reason = \"free\"", "reason is not known before something is freed"),
        ("heap", "measure = \"held_at_stop\"", "it is one of analysis = \"refset\""),
        ("resident", "measure = \"outstanding\"", "it is one of analysis = \"commit\""),
        ("pool", "max_growth = \"3 faults\"", "expected a size"),
        ("heap", "min = \"12288\"", "\"12288\": is it pages or bytes?"),
    ] {
        let text = format!("[[budget]]\nname = \"one\"\nanalysis = \"{analysis}\"\nmax = \"1 MiB\"\n{rest}\n");
        let ran = checked(KEYS, &text, &[]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(says), "{ran:?}");
    }
}

/// Where it is not known how much there was before the trace, the growth is limited.
#[test]
fn a_first_file_has_budgets_of_what_was_allocated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("first.toml");
    let budgets = path.to_str().expect("UTF-8");
    let made = run(&["check", "--init", "alloc-x86.etl", "-o", budgets]);
    assert_eq!(made.code, 0, "{made:?}");
    let text = std::fs::read_to_string(&path).expect("budgets");
    for part in [
        "name = \"All heap\"\nanalysis = \"heap\"\nmeasure = \"outstanding\"\nmax = \"71 KiB\"  # now 64",
        "analysis = \"pool\"\nmeasure = \"growth_per_minute\"\nwhere = { tag = \"Ntf \" }\n",
        "name = \"All commit\"\nanalysis = \"commit\"\nmeasure = \"outstanding\"\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let met = run(&["check", "alloc-x86.etl", "--budgets", budgets, "-q"]);
    assert!(met.code == 0 && met.out.contains("All pool, growth in a minute"), "{met:?}");
}

/// It said what was lost, and neither that there are no budgets nor what to do.
#[test]
fn losses_that_refuse_a_first_file_are_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let [trace, budgets] = ["lossy.etl", "first.toml"].map(|name| folder.path().join(name));
    let mut bytes = std::fs::read(crate::program::fixtures().join("alloc-x86.etl")).expect("a trace");
    // EventsLost in the log-file header; no buffer says when.
    bytes[152..156].copy_from_slice(&10u32.to_le_bytes());
    std::fs::write(&trace, bytes).expect("room for a trace");
    let [trace, to] = [&trace, &budgets].map(|path| path.to_str().expect("UTF-8"));
    let made = run(&["check", "--init", trace, "-o", to]);
    let says = "pfnset: No budgets: DATA WAS LOST while recording: 10 events; the trace does not tell when. Make them of a whole trace";
    assert!(made.code == 3 && made.err.starts_with(says) && !budgets.exists(), "{made:?}");
}

/// Limits of gigabytes in a minute were made of what three milliseconds allocated.
#[test]
fn a_first_file_guesses_no_growth_from_parts_of_a_second() {
    let made = run(&["check", "--init", KEYS, "-q"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(!made.out.contains("measure = \"growth_per_minute\""), "{}", made.out);
    for kind in ["commit", "pool"] {
        let says = format!("# No budgets of {kind} (analysis = \"{kind}\"): the trace is shorter than a second");
        assert!(made.out.contains(&says), "{}", made.out);
    }
}

/// Blocks of 4 KiB, one each fortieth of a second for two seconds, of a session that ends with them; and more records.
fn two_seconds_of_pool(mode: u32, begin_s: u64, more: Option<Rec>) -> tempfile::NamedTempFile {
    let standard = Session::windows10();
    let end_time = standard.start_time + (begin_s + 2) * 10_000_000;
    let session = Session { processors: 1, mode: standard.mode | mode, end_time, ..standard };
    let begin = session.t0 + begin_s * 10_000_000;
    let block = |number: u64| {
        let rec = pool::pool(P8, pool::ALLOC, 1, *b"Test", 0x1000, 0xffff_a000_0000_0000 + number * 0x1000);
        rec.at(begin + number * 250_000)
    };
    file_of(&Trace::new(session).push_all((0..=80).map(block).chain(more)).finish())
}

/// Growth was divided by the time since the session began, of which a circular log holds the last seconds.
#[test]
fn growth_is_of_the_time_that_was_recorded() {
    let growth = |trace: &tempfile::NamedTempFile, more: &str| {
        let path = trace.path().to_str().expect("UTF-8");
        let (_, result) = judged(path, &budget("pool", "growth_per_minute", &format!("max = \"1 GiB\"\n{more}")));
        result["value_bytes"].as_f64().unwrap_or_else(|| panic!("{result}"))
    };
    let wanted = 81.0 * 4096.0 * 30.0;
    let is_right = |value: f64| (value - wanted).abs() < wanted / 100.0;
    let plain = growth(&two_seconds_of_pool(0, 0, None), "");
    assert!(is_right(plain), "{plain}, not {wanted}");
    const IN_MEMORY: u32 = 0x400;
    let kept = two_seconds_of_pool(IN_MEMORY, 600, None);
    assert!(is_right(growth(&kept, "")), "{}, not {wanted}", growth(&kept, ""));
    let path = kept.path().to_str().expect("UTF-8");
    let info = out(&["info", path]);
    let says = "10 min 2 s, of which the last 2.000 s are left: the session keeps only its last buffers";
    assert!(info.contains(says), "{info}");
    let table = out(&["allocations", path, "--of", "pool", "-q"]);
    assert!(table.contains("Kernel pool from 600.000000 s to 602.000000 s"), "{table}");
    // A rundown of file names that is written after the end.
    let late = file::name(P8, 0x0424, 0xffff_b000_0000_0000, "C:\\late").at(Session::windows10().t0 + 120_000_000);
    let value = growth(&two_seconds_of_pool(0, 0, Some(late)), "");
    assert!(is_right(value), "{value}, not {wanted}");
}

/// What a process without a name committed can be of any: a value to which it could add too much passed beside a warning.
#[test]
fn commit_of_processes_without_a_name_decides_where_it_can() {
    let sum =
        |condition: &str| allocations(X86, "commit", Some(condition))["total"]["at_end_bytes"].as_u64().expect("bytes");
    let (own, unknown) = (sum("process=svchost.exe"), sum("process=Unknown*"));
    assert!(own > 0 && unknown > 0, "{own} {unknown}");
    let verdict = |limit: &str, bytes: u64| {
        let rest = format!("where.process = \"svchost.exe\"\nwatch = \"100 %\"\n{limit} = \"{bytes} bytes\"");
        let (code, result) = judged(X86, &budget("commit", "outstanding", &rest));
        (code, result["verdict"].as_str().expect("a verdict").to_owned(), result["reason"].to_string())
    };
    let (code, invalid, reason) = verdict("max", own + unknown - 1);
    assert_eq!((code, &*invalid), (3, "invalid"), "{reason}");
    assert!(reason.contains("no record names the process"), "{reason}");
    let of = |limit, bytes| verdict(limit, bytes).1;
    assert_eq!([of("max", own + unknown + 1), of("max", own - 1)], ["pass", "fail"]);
    assert_eq!(
        [of("min", own - 1), of("min", own + unknown), of("min", own + unknown + 1)],
        ["pass", "invalid", "fail"]
    );
}

/// Blocks of heaps count from the start of the recording on: a short one hid growth beside a long one, without a word.
#[test]
fn lengths_of_recordings_of_heaps_are_told() {
    let folder = crate::check::folder(&budget("heap", "outstanding", "max_growth = \"5 %\""));
    fs::copy(fixtures().join("alloc-x86.etl"), folder.path().join("alloc.etl")).expect("a trace");
    let check = |line: &str| crate::check::check(&folder, line);
    assert_eq!(check("alloc.etl --budgets budgets.toml --save-baseline base.json").code, 0);
    let path = folder.path().join("base.json");
    let says = "sums grow with the time";
    let line = "alloc.etl --budgets budgets.toml --baseline base.json --format json";
    assert!(!check(line).out.contains(says));
    let mut saved: Value = serde_json::from_slice(&fs::read(&path).expect("a baseline")).expect("JSON");
    let span = &mut saved["budgets"][0]["span_ns"];
    *span = (span.as_u64().expect("a length") * 10).into();
    fs::write(&path, saved.to_string()).expect("a baseline");
    assert!(check(line).out.contains(says));
}

/// Most of the growth was of new processes of one name, which were left out because peaks do not add up.
#[test]
fn what_grew_most_has_each_process_of_a_new_name_and_says_which_names_it_leaves_out() {
    let trace = |processes: &[(u32, &'static str, u64)]| {
        let session = Session::windows10();
        let begin = session.t0;
        let mut records = Vec::new();
        for (pid, name, bytes) in processes {
            records.push(Process::new(*pid, name).rec(P8, 4, process::START).at(begin + 1));
            let commit = memory::virtual_alloc(P8, 0x1_0000, *bytes, *pid, memory::RESERVE | memory::COMMIT);
            records.push(commit.at(begin + 1000 + u64::from(*pid)));
        }
        file_of(&Trace::new(session).push_all(records).finish())
    };
    let before = trace(&[(40, "a.exe", 0x8000), (44, "b.exe", 0x2000), (48, "c.exe", 0x9000)]);
    let now = trace(&[
        (60, "a.exe", 0x8000),
        (64, "a.exe", 0x1_0000),
        (68, "b.exe", 0x3000),
        (72, "new.exe", 0x4_0000),
        (76, "new.exe", 0x2_0000),
        (80, "c.exe", 0x4000),
        (84, "c.exe", 0x4000),
    ]);
    let [before, now] = [&before, &now].map(|file| file.path().to_str().unwrap());
    for (measure, left_out) in [("peak", "a.exe (1 in the baseline, 2 now)"), ("outstanding", "")] {
        let ran = checked(now, &budget("commit", measure, "max_growth = \"0\""), &["--baseline", before]);
        let result = &serde_json::from_str::<Value>(&ran.out).unwrap()["traces"][0]["budgets"][0];
        assert_eq!(result["verdict"], "fail", "{result}");
        let grown: Vec<(&str, i64)> = (result["grown"].as_array().unwrap().iter())
            .map(|row| (row["labels"][0].as_str().unwrap(), row["growth"].as_i64().unwrap()))
            .collect();
        let told = result["warnings"].to_string();
        if left_out.is_empty() {
            assert_eq!(grown, [("new.exe", 0x6_0000), ("a.exe", 0x1_0000), ("b.exe", 0x1000)]);
            assert!(!told.contains("leaves out"), "{told}");
        } else {
            assert_eq!(grown, [("new.exe (72)", 0x4_0000), ("new.exe (76)", 0x2_0000), ("b.exe", 0x1000)]);
            let says = "what grew most leaves out names with several processes, whose values do not add up: ";
            assert!(told.contains(&format!("{says}{left_out}\"")), "{told}");
        }
    }
}
