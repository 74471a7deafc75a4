//! Any folder as a dataset of somebody else: opening it and exporting into it changes nothing beside it.
//!
//! Input: lines, each a path below the dataset, a tab, and the content of the file; `@` and a path is a link to that path
//! beside the dataset, and no tab means a folder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::analysis::export::schema::Table;
use pfnset::code_page::CodePage;
use pfnset::dataset::add_trace::{Choice, Snapshots};
use pfnset::dataset::{Dataset, Format};
use pfnset::input::UnpackLimits;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Lines of an input that are used.
const MOST_LINES: usize = 40;

fuzz_target!(|data: &[u8]| {
    let memory = Path::new("/dev/shm");
    let scene = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a folder");
    let (dataset, victim) = (scene.path().join("dataset"), scene.path().join("victim"));
    for (path, text) in [("part-0.csv", "data"), ("trace=t1/part-0.csv", "data"), (".ssh/authorized_keys", "a key")] {
        write(&victim.join(path), text);
    }
    fs::create_dir(&dataset).expect("a folder");
    String::from_utf8_lossy(data).lines().take(MOST_LINES).for_each(|line| add(&dataset, &victim, line));
    let before = content(&victim);
    for _ in 0..2 {
        let Ok(opened) = Dataset::open(&dataset, Format::Csv, "1") else { break };
        assert!(opened.refused().iter().all(|refused| refused.path.starts_with(&dataset)));
        let choice = Choice {
            tables: vec![Table::Files, Table::Traces],
            snapshots: Snapshots::Last,
            resume: true,
            machine_names: false,
            code_page: CodePage::default(),
            events: Default::default(),
            symbols: Default::default(),
        };
        // A trace that is not there becomes a row. What lies in the way is an error.
        let _ = opened.export(Path::new("no trace"), &[], &choice, &UnpackLimits::default());
    }
    assert_eq!(content(&victim), before, "nothing outside is changed");
    assert_eq!(fs::read_dir(scene.path()).expect("readable").count(), 2, "nothing is made beside the dataset");
});

fn write(path: &Path, text: &str) -> Option<()> {
    fs::create_dir_all(path.parent()?).ok()?;
    fs::write(path, text).ok()
}

/// Adds an entry to the dataset, unless its path leads out of it, also by a link that was added before.
fn add(dataset: &Path, victim: &Path, line: &str) {
    let (name, content) = line.split_once('\t').map_or((line, None), |(name, content)| (name, Some(content)));
    let path = dataset.join(name);
    let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    let leads_out = |folder: &Path| folder.symlink_metadata().is_ok_and(|data| data.is_symlink());
    if !is_plain || name.is_empty() || path.ancestors().take_while(|at| *at != dataset).any(leads_out) {
        return;
    }
    match content.map(|content| (content.strip_prefix('@'), content)) {
        None => drop(fs::create_dir_all(path)),
        Some((None, content)) => drop(write(&path, content)),
        Some((Some(target), _)) => {
            let is_plain = Path::new(target).components().all(|part| matches!(part, Component::Normal(_)));
            let made = path.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok());
            #[cfg(unix)]
            if made && is_plain {
                let _ = std::os::unix::fs::symlink(victim.join(target), path);
            }
            #[cfg(not(unix))]
            let _ = (made, is_plain, victim);
        }
    }
}

/// Files below a folder with their content; a folder has none.
fn content(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(content(&path));
            all.insert(path, None);
        } else {
            all.insert(path.clone(), fs::read(&path).ok());
        }
    }
    all
}
