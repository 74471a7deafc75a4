//! The manifests of package managers in `dist/templates`, filled in by `dist/manifests`.
#![cfg(unix)]

use saphyr::{LoadableYamlNode, Yaml};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const VERSION: &str = "7.8.9";
const URL: &str = "https://example.org/releases/7.8.9";

/// A digest of its own for each file.
fn digest(letter: char) -> String {
    String::from(letter).repeat(64)
}

fn sums() -> String {
    let names = [
        ('a', "-x86_64-pc-windows-gnu-debug.zip"),
        ('b', "-x86_64-pc-windows-gnu.zip"),
        ('c', "-x86_64-unknown-linux-musl-debug.tar.gz"),
        ('d', "-x86_64-unknown-linux-musl.tar.gz"),
        ('e', ".crate"),
    ];
    names.map(|(letter, name)| format!("{}  pfnset-{VERSION}{name}\n", digest(letter))).concat()
}

fn fill(folder: &Path, sums: &str, url: &str) -> Output {
    fs::write(folder.join("SHA256SUMS"), sums).expect("room");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/manifests");
    // 2026-11-21, 12:00.
    let mut command = Command::new("bash");
    command.arg(script).arg(url).arg(folder).env("SOURCE_DATE_EPOCH", "1795262400");
    command.output().expect("bash")
}

#[test]
fn manifests_are_filled_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let filled = fill(folder.path(), &sums(), &format!("{URL}/"));
    assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
    let paths: Vec<String> = String::from_utf8(filled.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    let read = |name: &str| {
        let path = paths.iter().find(|path| path.ends_with(name)).unwrap_or_else(|| panic!("{name}: {paths:?}"));
        fs::read_to_string(path).expect("a manifest")
    };
    let archive = format!("{URL}/pfnset-{VERSION}-x86_64-pc-windows-gnu.zip");

    let yaml = |name: &str| {
        let mut documents = Yaml::load_from_str(Box::leak(read(name).into_boxed_str())).expect("YAML");
        assert_eq!(documents.len(), 1, "{name}");
        documents.remove(0)
    };
    for (name, kind) in [
        ("winget/pfnset.pfnset.yaml", "version"),
        ("winget/pfnset.pfnset.installer.yaml", "installer"),
        ("winget/pfnset.pfnset.locale.en-US.yaml", "defaultLocale"),
    ] {
        let manifest = yaml(name);
        assert_eq!(manifest["ManifestType"].as_str(), Some(kind));
        assert_eq!(manifest["PackageVersion"].as_str(), Some(VERSION));
        assert_eq!(manifest["PackageIdentifier"].as_str(), Some("pfnset.pfnset"));
    }
    let installer = yaml("pfnset.installer.yaml");
    assert_eq!(installer["Installers"][0]["InstallerUrl"].as_str(), Some(archive.as_str()));
    assert_eq!(installer["Installers"][0]["InstallerSha256"].as_str(), Some(digest('b').as_str()));
    assert_eq!(installer["ReleaseDate"].as_str(), Some("2026-11-21"));
    let program = installer["NestedInstallerFiles"][0]["RelativeFilePath"].as_str();
    assert_eq!(program, Some(r"pfnset-7.8.9-x86_64-pc-windows-gnu\pfnset.exe"));

    let scoop: serde_json::Value = serde_json::from_str(&read("scoop/pfnset.json")).expect("JSON");
    assert_eq!(scoop["version"], VERSION);
    assert_eq!(scoop["architecture"]["64bit"]["url"], archive);
    assert_eq!(scoop["architecture"]["64bit"]["hash"], digest('b'));

    let formula = read("homebrew/pfnset.rb");
    for line in [
        format!("version \"{VERSION}\""),
        format!("url \"{URL}/pfnset-{VERSION}-x86_64-unknown-linux-musl.tar.gz\""),
        format!("sha256 \"{}\"", digest('d')),
        format!("sha256 \"{}\"", digest('e')),
    ] {
        assert!(formula.lines().any(|own| own.trim() == line), "{line}\n{formula}");
    }
    let formula = paths.iter().find(|path| path.ends_with(".rb")).expect("the formula");
    match Command::new("ruby").args(["-c", formula]).output() {
        Ok(checked) => assert!(checked.status.success(), "{checked:?}"),
        Err(_) => eprintln!("SKIPPED: no ruby to parse the formula"),
    }
}

#[test]
fn what_cannot_be_filled_in_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let without = |left_out: &str| {
        sums().lines().filter(|line| !line.ends_with(left_out)).fold(String::new(), |sums, line| sums + line + "\n")
    };
    for (sums, url, message) in [
        (without("gnu.zip"), URL, "names no archive for Windows"),
        (without(".crate"), URL, "lacks pfnset-7.8.9.crate"),
        (without("musl.tar.gz"), URL, "lacks pfnset-7.8.9-x86_64-unknown-linux-musl.tar.gz"),
        (sums(), "http://example.org", "want https://"),
    ] {
        let ran = fill(folder.path(), &sums, url);
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && told.contains(message), "{message}: {told}");
    }
}
