//! The manual pages of `pfnset man`.

use crate::program::{commands, out, run};
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn each_command_has_a_page_with_its_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(out(&["man", path]), "");
    let names: BTreeSet<String> = folder
        .path()
        .read_dir()
        .expect("the folder")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let listed = commands().into_iter().filter(|command| command != "help");
    let expected: BTreeSet<String> =
        listed.clone().map(|command| format!("pfnset-{command}.1")).chain(["pfnset.1".to_owned()]).collect();
    assert_eq!(names, expected);
    for command in listed {
        let page =
            std::fs::read_to_string(folder.path().join(format!("pfnset-{command}.1"))).unwrap().replace('\\', "");
        assert!(page.contains(concat!("\"pfnset ", env!("CARGO_PKG_VERSION"), "\"")), "{page}");
        let help = out(&["help", &command]);
        let flags: Vec<&str> =
            help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 3).collect();
        for flag in flags {
            let is_of_name = |letter: &char| letter.is_ascii_alphabetic() || *letter == '-';
            let name: String = flag.chars().take_while(is_of_name).collect();
            assert!(page.contains(&name), "the page of {command} lacks {name}");
        }
        for example in help.lines().filter(|line| line.starts_with("  pfnset ")) {
            assert!(page.lines().any(|line| line == example.replace('\\', "")), "{command}: {example}");
        }
    }
    let manual = folder.path().join("pfnset-resident.1");
    match Command::new("man").args(["--warnings", "-l"]).arg(manual).output() {
        Ok(shown) => assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}"),
        Err(_) => eprintln!("SKIPPED: no man to show the pages"),
    }
}

#[test]
fn the_folder_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("man/man1");
    assert_eq!(out(&["man", inner.to_str().expect("UTF-8")]), "");
    assert!(inner.join("pfnset.1").is_file());
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("room");
    let ran = run(&["man", file.to_str().expect("UTF-8")]);
    assert!(ran.code == 2 && ran.err.starts_with("pfnset: cannot write "), "{ran:?}");
}
