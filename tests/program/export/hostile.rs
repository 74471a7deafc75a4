//! A dataset folder of somebody else: whatever lies in it, nothing outside of it is written, moved or removed, and what can be
//! exported is.

use super::{id_of, parts};
use crate::program::{Ran, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const TRACE: &str = "resident-small.etl";

/// The id of the trace in a dataset.
fn id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(export(folder.path()).code, 0);
        id_of(folder.path(), TRACE)
    })
}

/// A folder with a dataset, and beside it files of a victim.
struct Scene {
    folder: tempfile::TempDir,
    id: &'static str,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { folder: tempfile::tempdir().unwrap(), id: id() };
        scene.write("victim/.ssh/authorized_keys", "old key");
        scene.write("victim/traces/trace=t1/part-0.parquet", "data");
        scene.write("victim/traces/part-0.parquet", "data");
        scene
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.replace("ID", self.id))
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What the victim has.
    fn victim(&self) -> BTreeMap<PathBuf, String> {
        let read = |path: PathBuf| (path.clone(), fs::read_to_string(path).unwrap());
        parts(&self.at("victim")).into_iter().map(read).collect()
    }

    #[cfg(unix)]
    fn link(&self, path: &str, to: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.at(to), self.at(path)).unwrap();
    }
}

fn export(dataset: &Path) -> Ran {
    run(&["export", TRACE, "-q", "--tables", "resident,files", "--out", dataset.to_str().unwrap()])
}

/// A state of a trace with such a list of parts, as this version writes it.
fn state(parts: &str) -> String {
    format!(
        r#"{{"version":"{}","format":"parquet","code_page":"windows-1252","machine_names":false,"schema_version":2,"snapshots":"last","parts":{{{parts}}},"asked":[],"error":null,"rows":1,"bytes":1}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

/// A plan of pfnset 0.2.0, which had paths in it.
fn old_plan(id: &str, put: &str, drop: &str) -> String {
    let state = r#"{"version":"0.2.0","format":"parquet","files":{},"asked":[],"error":null,"rows":1,"bytes":1}"#;
    format!(r#"{{"id":"{id}","put":{{{put}}},"drop":[{drop}],"unlist":false,"state":{state}}}"#)
}

#[test]
fn plans_with_paths_are_not_used() {
    let scene = Scene::new();
    fs::create_dir_all(scene.at("dataset/traces/trace=x")).unwrap();
    fs::create_dir_all(scene.at("dataset/resident/trace=x")).unwrap();
    scene.write("dataset/.pfnset/work/ready-x/traces/authorized_keys", "somebody's key");
    let put = old_plan("x/../../../victim/.ssh", r#""traces":["authorized_keys"]"#, "");
    scene.write("dataset/.pfnset/work/ready-x/plan.json", &put);
    let drop = old_plan("x/../../../victim/traces/trace=t1", "", r#""resident""#);
    scene.write("dataset/.pfnset/work/ready-y/plan.json", &drop);
    let before = scene.victim();
    let ran = export(&scene.at("dataset"));
    assert_eq!((ran.code, ran.err.matches("its name names no trace").count()), (0, 2), "{}", ran.err);
    assert!(ran.err.contains("ready-x is not used") && ran.err.contains("ready-y is not used"), "{}", ran.err);
    assert_eq!(scene.victim(), before);
    assert_eq!(id_of(&scene.at("dataset"), TRACE), scene.id, "they block nothing");
}

#[test]
fn what_does_not_fit_is_refused_and_blocks_nothing() {
    let other = "t00000000000000000000";
    let ready = format!("dataset/.pfnset/work/ready-{other}");
    let one = state(r#""traces":1"#);
    let cases: [(&str, &[(&str, &str)]); 9] = [
        ("state.json", &[("state.json", "{")]),
        ("unknown table", &[("state.json", &state(r#""traces":1,"../../victim":1"#)), ("traces/part-0.parquet", "x")]),
        ("no row in traces", &[("state.json", &state(""))]),
        ("part-0.parquet of its state is missing", &[("state.json", &one)]),
        (
            "part-1.parquet of its state is missing",
            &[("state.json", &state(r#""traces":4000000000"#)), ("traces/part-0.parquet", "x")],
        ),
        ("authorized_keys is no part", &[("state.json", &one), ("traces/authorized_keys", "x")]),
        ("part-0.csv is no part", &[("state.json", &one), ("traces/part-0.csv", "x")]),
        (
            "part-1.parquet is no part",
            &[("state.json", &one), ("traces/part-0.parquet", "x"), ("traces/part-1.parquet", "x")],
        ),
        (
            "files is no table of its state",
            &[("state.json", &one), ("traces/part-0.parquet", "x"), ("files/part-0.parquet", "x")],
        ),
    ];
    for (says, files) in cases {
        let scene = Scene::new();
        let before = scene.victim();
        // Of another trace, and of the same one: that one is replaced by what is exported now.
        for folder in [&ready[..], "dataset/.pfnset/work/ready-ID"] {
            files.iter().for_each(|(name, text)| scene.write(&format!("{folder}/{name}"), text));
        }
        let ran = export(&scene.at("dataset"));
        assert_eq!((ran.code, ran.err.matches("is not used").count()), (0, 2), "{says}: {}", ran.err);
        assert_eq!(ran.err.replace("\n", " ").matches(says).count(), 2, "{says}: {}", ran.err);
        assert_eq!(scene.victim(), before);
        assert!(scene.at(&ready).exists() && !scene.at("dataset/.pfnset/work/ready-ID").exists(), "{says}");
        assert_eq!(id_of(&scene.at("dataset"), TRACE), scene.id);
    }
}

/// What fits is moved in, also if somebody else wrote it: the folder is theirs.
#[test]
fn what_fits_is_finished() {
    let scene = Scene::new();
    let ready = "dataset/.pfnset/work/ready-t00000000000000000000";
    scene.write(&format!("{ready}/traces/part-0.parquet"), "row");
    scene.write(&format!("{ready}/state.json"), &state(r#""traces":1"#));
    let ran = export(&scene.at("dataset"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let part = scene.at("dataset/traces/trace=t00000000000000000000/part-0.parquet");
    assert_eq!(fs::read_to_string(part).unwrap(), "row");
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_a_dataset() {
    for (link, to) in [
        ("dataset/.pfnset", "victim"),
        ("dataset/.pfnset/work", "victim"),
        ("dataset/.pfnset/traces", "victim"),
        ("dataset/.pfnset/lock", "victim/created"),
        ("dataset/traces", "victim/traces"),
        ("dataset/resident", "victim/traces"),
        ("dataset/pages", "victim/traces"),
        ("dataset/traces/trace=ID", "victim/traces/trace=t1"),
        ("dataset/files/trace=ID", "victim/traces/trace=t1"),
    ] {
        let scene = Scene::new();
        let before = scene.victim();
        scene.link(link, to);
        let ran = export(&scene.at("dataset"));
        assert_eq!(ran.code, 2, "{link}: {ran:?}");
        let path = scene.at(link).display().to_string();
        assert!(ran.err.contains(&path) && ran.err.contains("is a link"), "{link}: {}", ran.err);
        assert_eq!(scene.victim(), before, "{link}");
        assert!(
            parts(&scene.at("dataset")).iter().all(|part| part.starts_with(scene.at(link))),
            "nothing is published"
        );
    }
}

#[cfg(unix)]
#[test]
fn links_in_a_ready_folder_are_refused() {
    let ready = "dataset/.pfnset/work/ready-t00000000000000000000";
    for (link, to) in [
        ("", "victim"),
        ("/traces", "victim/traces"),
        ("/traces/part-0.parquet", "victim/.ssh/authorized_keys"),
        ("/state.json", "state"),
    ] {
        let scene = Scene::new();
        let before = scene.victim();
        scene.write("state", &state(r#""traces":1"#));
        scene.link(&format!("{ready}{link}"), to);
        if !link.is_empty() && link != "/state.json" {
            scene.write(&format!("{ready}/state.json"), &state(r#""traces":1"#));
        }
        let ran = export(&scene.at("dataset"));
        assert_eq!((ran.code, ran.err.matches("is not used").count()), (0, 1), "{link}: {}", ran.err);
        assert!(ran.err.contains("link"), "{link}: {}", ran.err);
        assert_eq!(scene.victim(), before, "{link}");
        assert!(!scene.at("dataset/traces/trace=t00000000000000000000").exists(), "{link}");
    }
}

/// What is left of runs that were killed is removed; what it links to stays.
#[cfg(unix)]
#[test]
fn what_is_cleaned_up_lies_inside() {
    let scene = Scene::new();
    let before = scene.victim();
    scene.link("dataset/.pfnset/work/writing-a", "victim");
    scene.link("dataset/.pfnset/work/writing-b/traces", "victim/traces");
    scene.link("dataset/.pfnset/work/writing-b.lock", "victim/.ssh/authorized_keys");
    scene.link("dataset/files/trace=ID/part-7.parquet", "victim/traces/part-0.parquet");
    let ran = export(&scene.at("dataset"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(scene.victim(), before);
    assert!(!scene.at("dataset/.pfnset/work/writing-b").exists());
    assert!(!scene.at("dataset/files/trace=ID/part-7.parquet").exists());
}
