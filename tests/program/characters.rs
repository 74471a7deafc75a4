//! Which characters text has: those that the terminal shows. `PFNSET_CHARACTERS` decides, then the locale, then the system.

use crate::program::{Ran, commands, finish, out, pfnset, trace_commands};
use crate::random_cases::one_in;
use pfnset::unstable_api::ascii;

const TRACE: &str = "resident-small.etl";

/// Runs it with these variables.
fn with(variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = pfnset(arguments);
    command.env_remove("PFNSET_CHARACTERS").envs(variables.iter().copied());
    finish(&mut command)
}

fn in_c(arguments: &[&str]) -> String {
    with(&[("LC_ALL", "C")], arguments).out
}

#[test]
fn text_is_ascii_where_the_locale_is() {
    let counter = ["counter".to_owned()];
    let more: [&[&str]; 6] = [
        &["resident", "--all", "--wpa"],
        &["resident", "--explain", "0x100"],
        &["memory", "--timeline", "100ms"],
        &["diff", "refset-small.etl"],
        &["resident", "--each", "refset-small.etl"],
        &["resident", "--format", "markdown"],
    ];
    let plain: Vec<Vec<&str>> =
        trace_commands().iter().map(|command| vec![command.clone().leak() as &str, TRACE]).collect();
    let flagged = more.iter().map(|words| [&words[..1], &[TRACE], &words[1..]].concat());
    let without = counter.iter().map(|command| vec![command.as_str()]);
    let mut changed = 0;
    for arguments in one_in(1, plain.into_iter().chain(flagged).chain(without).chain([vec!["words"]]).collect()) {
        let unicode = with(&[("LC_ALL", "C.UTF-8")], &arguments);
        let text = in_c(&arguments);
        assert_eq!(text, ascii(&unicode.out), "{arguments:?}");
        // Names of the trace keep their letters.
        let is_of_names = |c: &char| c.is_alphabetic();
        assert!(text.chars().filter(|c| !is_of_names(c)).all(|c| c.is_ascii()), "{arguments:?}: {text}");
        changed += usize::from(text != unicode.out);
    }
    assert!(changed > 0);
}

#[test]
fn help_and_messages_are_ascii_too() {
    for command in commands() {
        let help = in_c(&["help", &command]);
        assert!(help.is_ascii() && help.contains("Usage: pfnset"), "{help}");
        assert!(in_c(&[&command, "-h"]).is_ascii());
    }
    assert!(in_c(&["help", "resident"]).contains("--group-by <DIM,...>"));
    assert!(in_c(&["--version"]).starts_with("pfnset "));
    let ran = with(&[("LC_ALL", "C")], &["resident", "--group-by"]);
    assert!(ran.code == 2 && ran.err.is_ascii() && ran.err.contains("<DIM,"), "{}", ran.err);
}

#[test]
fn the_user_can_force_either_way() {
    let (unicode, all) = (out(&["resident", TRACE, "--characters", "unicode"]), ["resident", TRACE]);
    assert!(unicode.contains('─') && unicode.contains('█'));
    assert_eq!(with(&[], &["resident", TRACE, "--characters", "ascii"]).out, ascii(&unicode));
    assert_eq!(with(&[("LC_ALL", "C"), ("PFNSET_CHARACTERS", "unicode")], &all).out, unicode);
    assert_eq!(with(&[("PFNSET_CHARACTERS", "ascii")], &all).out, ascii(&unicode));
    assert_eq!(with(&[("PFNSET_CHARACTERS", "latin")], &all).code, 2);
    let flag_first = ["resident", TRACE, "--characters", "unicode"];
    assert_eq!(with(&[("PFNSET_CHARACTERS", "ascii")], &flag_first).out, unicode);
}

/// What programs read, and files, are UTF-8 whatever the terminal is.
#[test]
fn files_and_forms_for_programs_stay_as_they_are() {
    let commands = trace_commands();
    let all =
        commands.iter().flat_map(|command| ["json", "csv", "jsonl"].map(|form| [command, TRACE, "--format", form]));
    for arguments in one_in(1, all.collect()) {
        let ran = with(&[("LC_ALL", "C.UTF-8")], &arguments);
        assert_eq!(in_c(&arguments), ran.out, "{arguments:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    assert_eq!(in_c(&["resident", TRACE, "-o", path.to_str().unwrap()]), "");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), out(&["resident", TRACE, "--characters", "unicode"]));
}
