//! docs/json.md against what the program writes, in both directions: each key written is listed there with its type, and
//! each key listed there is written for one of the traces below.

use crate::one_of_each;
use crate::program::{beside_losses, finish, fixtures, pfnset};
use crate::recording;
use crate::refset;
use etl_writer::payloads::{header, memory};
use etl_writer::{MemorySpec, Ptr::P8, Rec, Session, Trace, generate_memory};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A key as the page lists it.
#[derive(Debug)]
struct Key {
    path: String,
    /// Alternatives.
    types: Vec<String>,
}

/// The keys of a schema, or of an object that has a table of its own.
type Table = Vec<Key>;

/// All tables of the page by schema and object; the object of a schema's main table has no name.
fn tables(page: &str) -> BTreeMap<(String, String), Table> {
    let mut found: BTreeMap<(String, String), Table> = BTreeMap::new();
    for section in page.split("\n## `").skip(1) {
        let schema = section.split('`').next().unwrap_or_default().to_owned();
        let mut object = None;
        for line in section.lines() {
            let cells: Vec<&str> =
                line.trim_matches('|').split(" | ").map(|cell| cell.trim_matches([' ', '|'])).collect();
            match cells[..] {
                _ if !line.starts_with('|') => object = None,
                ["key", "type", "meaning"] => object = Some(String::new()),
                [heading, "type", "meaning"] => {
                    object = Some(quoted(heading).pop().unwrap_or_else(|| panic!("{schema}: the object of {heading}")));
                }
                [keys, types, ..]
                    if let Some(object) = &object
                        && !keys.starts_with("---") =>
                {
                    let table = found.entry((schema.clone(), object.clone())).or_default();
                    table.extend(keys_of(keys, types));
                }
                _ => {}
            }
        }
    }
    found
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys of a row.
fn keys_of(keys: &str, types: &str) -> Vec<Key> {
    let names = quoted(keys);
    let types: Vec<Vec<String>> = (types.split(", "))
        .map(|alternatives| alternatives.split(" or ").map(|t| t.replace('`', "")).collect())
        .collect();
    assert!(types.len() == 1 || types.len() == names.len(), "one type, or one for each key: {keys}");
    let mut before = "";
    let mut found = Vec::new();
    for (name, types) in names.iter().zip(types.iter().cycle()) {
        let path = match name.strip_prefix('.') {
            Some(last) => before.rsplit_once('.').map_or(last.to_owned(), |(object, _)| format!("{object}.{last}")),
            None => name.clone(),
        };
        found.push(Key { path, types: types.clone() });
        if !name.starts_with('.') {
            before = name;
        }
    }
    found
}

/// Compares values with the tables of a schema and keeps what was met.
struct Reader<'t> {
    schema: &'t str,
    tables: &'t BTreeMap<(String, String), Table>,
    met: BTreeSet<(String, String)>,
    wrong: BTreeSet<String>,
}

impl Reader<'_> {
    fn complain(&mut self, object: &str, path: &str, what: &str) {
        self.wrong.insert(format!("{}: {object} {path}: {what}", self.schema));
    }

    /// Reads an object's keys, which stand at `path` in the table of `object`.
    fn object(&mut self, value: &Value, object: &str, path: &str) {
        let Some(fields) = value.as_object() else { return self.complain(object, path, "is no object") };
        let Some(table) = self.tables.get(&(self.schema.to_owned(), object.to_owned())) else {
            return self.complain(object, path, "has no table");
        };
        for (name, value) in fields {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if let Some(key) = table.iter().find(|key| key.path == path) {
                self.met.insert((object.to_owned(), path.clone()));
                if !key.types.iter().any(|kind| self.fits(value, kind, object, &path)) {
                    self.complain(object, &path, &format!("is {value}, not {}", key.types.join(" or ")));
                }
            } else if table.iter().any(|key| key.path.starts_with(&format!("{path}."))) {
                self.object(value, object, &path);
            } else {
                self.complain(object, &path, "is written, and not listed in docs/json.md");
            }
        }
    }

    /// True when a value is of a type; what is inside of it is read on the way.
    fn fits(&mut self, value: &Value, kind: &str, object: &str, path: &str) -> bool {
        match (kind, value) {
            ("null", Value::Null) | ("text", Value::String(_)) => true,
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => true,
            ("object of numbers", Value::Object(fields)) => fields.values().all(Value::is_number),
            ("list of text", Value::Array(items)) => items.iter().all(Value::is_string),
            ("list of numbers", Value::Array(items)) => items.iter().all(Value::is_number),
            ("list", Value::Array(items)) => {
                items.iter().for_each(|item| self.object(item, object, &format!("{path}[]")));
                true
            }
            ("object", Value::Object(_)) => {
                self.object(value, object, path);
                true
            }
            (
                "null" | "text" | "number" | "boolean" | "object of numbers" | "list" | "list of text"
                | "list of numbers" | "object",
                _,
            ) => false,
            (named, Value::Array(items)) if let Some(named) = named.strip_prefix("list of ") => {
                items.iter().for_each(|item| self.object(item, named, ""));
                true
            }
            (named, Value::Object(fields)) if let Some(named) = named.strip_prefix("object of ") => {
                fields.values().for_each(|item| self.object(item, named, ""));
                true
            }
            (named, Value::Object(_)) => {
                self.object(value, named, "");
                true
            }
            _ => false,
        }
    }

    /// Tables that one object stands for, or a key that no output had.
    fn never_met(&self) -> Vec<String> {
        let of_schema = self.tables.iter().filter(|((schema, _), _)| schema == self.schema);
        let all =
            of_schema.flat_map(|((_, object), table)| table.iter().map(move |key| (object.clone(), key.path.clone())));
        let missing = all.filter(|key| !self.met.contains(key));
        missing
            .map(|(object, path)| format!("{}: {object} {path}: is listed, and never written", self.schema))
            .collect()
    }
}

/// A trace in which everything is wrong that `info` and `events` have keys for.
fn in_trouble() -> Vec<u8> {
    let session = Session { buffer_size: 0x400, events_lost: 41, buffers_lost: 2, ..Session::windows10() };
    let sample = |n: u64| Rec::perf(P8, 0x0f2e, 2, vec![0; 16]).at(1_000_000_000 + n * 2_904_000).on((n % 2) as u16);
    let last = |rec: Rec| rec.at(1_000_000_000 + 2_904_000 * 500);
    Trace::new(session)
        .push_all((0..400).map(sample))
        .push(last(Rec::perf(P8, 0x0f2e, 2, vec![0; 3])))
        .push(last(header::last_dropped(P8, &[0, 1_000_000_500])))
        .push(last(Rec::event(P8, [1; 16], 4711, 3, vec![])))
        .push(last(Rec::full(P8, [2; 16], 33, 2, vec![])))
        .push(Rec::message(7, 0, vec![1, 2]))
        .push(Rec::unknown(99, vec![0; 4]))
        .lose_buffers(&[4, 5])
        .edit_buffers(|buffers| buffers[8].offset_field = Some(0x401))
        .finish()
}

/// Command lines for each schema; together they write every key. A new command adds its own.
fn outputs(schema: &str) -> Vec<Vec<&str>> {
    let lines: &[&str] = match schema {
        "pfnset.info" => &[
            "info trouble.etl --format json",
            "info resident-small.etl --format json",
            "info two.etl beside.etl --format json",
        ],
        "pfnset.events" => {
            &["events trouble.etl --digest --format json", "events refset-small.etl --name Memory* --format json"]
        }
        "pfnset.resident" => &[
            "resident resident-small.etl --format json",
            "resident resident-small.etl --format json --group-by list,use,category,category_wpa,class,process,pid",
            "resident resident-small.etl --format json --group-by process_name,service,command_line,folder,extension",
            "resident resident-small.etl --format json --group-by rule,pool_tag,class_wpa --where category=Image",
            "resident two.etl --snapshot all --format json --group-by session,file,detail,priority,cold,pinned,non_tradeable",
            "resident two.etl --format json --group-by stack,function,module",
        ],
        "pfnset.pages" => &["pages resident-small.etl --format jsonl", "pages two.etl --format jsonl"],
        "pfnset.explain" => &[
            "resident resident-small.etl --explain 0x100 --format json",
            "resident two.etl --snapshot all --explain 0x105 --format json",
            "resident two.etl --explain 0x62000 --process 40 --format json",
            "resident two.etl --explain 0x63000 --process 40 --format json",
        ],
        "pfnset.refset" => &[
            "refset refset-small.etl --format json --group-by process,category,class,file,detail --where class=File",
            "refset refset-small.etl --format json --group-by access_reason,release_reason,impact --from 0.01",
            "refset refset-small.etl --format json --timeline 20ms",
            "refset sets.etl --format json",
            "refset stacks-keys.etl --format json --group-by stack,function,module --timeline 1",
            "refset refset-small.etl --format json --timeline 20ms --group-by process,class,file,detail,access_reason",
            "refset refset-small.etl --format json --timeline 20ms --group-by process_name,service,command_line,pid,session,folder,extension,category",
        ],
        "pfnset.cpu" => &[
            "cpu cpu-compressed.etl --format json --group-by process,thread,processor --where process=*",
            "cpu cpu-compressed.etl --format json --group-by process_name,service,command_line,pid,session",
            "cpu cpu-compressed.etl --format json --group-by thread --timeline 50ms --from work-start",
            "cpu stacks-keys.etl --format json --group-by stack,function,module,ready_stack,ready_function,ready_module",
            "cpu resident-small.etl --format json --group-by process,thread,processor,module --where process=*",
            "cpu resident-small.etl --format json --group-by process_name,service,command_line,pid,session",
        ],
        "pfnset.allocations" => &[
            "allocations alloc-x86.etl --format json --group-by process,thread,reason,size,pages --timeline 1 --where process=*",
            "allocations alloc-x86.etl --of pool --format json --group-by tag,pool,session",
            "allocations two.etl --preset not-resident --format json",
            "allocations alloc-x86.etl --of heap --format json --group-by heap,source,stack,function,free_stack,free_function",
        ],
        "pfnset.stacks" => &[
            "stacks stacks-keys.etl --format json --group-by process,thread,processor,module,function,stack",
            "stacks stacks-keys.etl --format json --tree --from 0 --where process=*",
        ],
        "pfnset.symbols" => &["symbols stacks-keys.etl --format json"],
        "pfnset.faults" => &[
            "faults faults-x86.etl --format json --group-by process,thread,file,kind,module,disk,priority,operation",
            "faults lossy.etl --format json",
            "faults faults-x86.etl --format json --of again",
            "faults faults-x86.etl --format json --of ranges",
            "faults faults-x86.etl --format json --from work-start --to work-end --timeline 20ms --where process=*",
        ],
        "pfnset.processes" => &[
            "processes two.etl --format json --group-by process,name,pid,parent,session,command_line,started,ended --where process=*",
        ],
        "pfnset.memory" => &[
            "memory memory.etl --format json",
            "memory memory.etl --format json --group-by list --where list=Standby",
            "memory memory.etl --format json --group-by process",
            "memory memory.etl --format json --group-by session",
            "memory memory.etl --format json --timeline 2s",
            "memory memory.etl --format json --timeline 2s --group-by process",
            "memory memory.etl --format json --timeline 2s --group-by session",
        ],
        "pfnset.counter" => &["counter --csv counters/example.csv --format json"],
        "pfnset.counter_type" => &["counter --format json", "counter 0x80210500 --format json"],
        "pfnset.diff" => &[
            "diff two.etl raw.csv --format json",
            "diff two.etl resident-small.etl --format json --group-by process,category,class,list,use,rule,detail --where process=*",
            "diff two.etl resident-small.etl --format json --group-by pid,session,file,priority,cold,pinned,non_tradeable",
            "diff two.etl resident-small.etl --format json --group-by process,pool_tag",
            "diff two.etl resident-small.etl --format json --group-by process_name,service,command_line,folder,extension",
            "diff two.etl resident-small.etl --format json --group-by pool_tag",
            "diff two.etl two.etl --all --format json --group-by process,category,class,list,use,rule,detail",
            "diff two.etl two.etl --all --format json --group-by pid,session,file,priority,cold,pinned,non_tradeable",
            "diff two.etl two.etl --all --format json --group-by process_name,service,command_line,folder,extension",
            "diff refset-small.etl refset-small.etl --refset --all --format json --group-by access_reason,release_reason,impact",
            "diff stacks-keys.etl stacks-keys.etl --refset --all --format json --group-by function,module",
            "diff refset-small.etl stacks-keys.etl --refset --format json --group-by function,module",
            "diff held.csv refset-small.etl --format json",
            "diff two.etl --with beside.etl resident-small.etl --format json",
        ],
        "pfnset.diff_allocations" => &[
            "diff alloc-x86.etl stacks-keys.etl --allocations --of commit --format json --tolerance 4MiB --all --group-by process,thread,reason,size,pages --where process=*",
            "diff alloc-x86.etl alloc-x86.etl --allocations --of pool --format json --all --group-by tag,pool,session",
            "diff alloc-x86.etl less-alloc-x86.etl --allocations --of pool --format json",
            "diff alloc-x86.etl stacks-keys.etl --allocations --of pool --format json --group-by tag,pool,session",
            "diff alloc-x86.etl stacks-keys.etl --allocations --of heap --format json --group-by heap,source,stack,function,free_stack,free_function",
            "diff stacks-keys.etl stacks-keys.etl --allocations --of heap --all --format json --group-by heap,source,stack,function,free_stack,free_function",
        ],
        "pfnset.diff_stacks" => &[
            "diff stacks-keys.etl stacks-keys.etl --of samples --all --format json --group-by process,thread,processor,module,function,stack",
            "diff stacks-keys.etl resident-small.etl --of samples --format json --group-by process,thread,processor,module,function,stack --where process=*",
            "diff stacks-keys.etl stacks-keys.etl --of cswitch --all --format json",
            "diff stacks-keys.etl less-stacks-keys.etl --of cswitch --format json",
        ],
        "pfnset.check" => &[
            "check resident-small.etl --budgets budgets.toml --baseline resident-small.etl --format json",
            "check two.etl --with beside.etl --budgets budgets.toml --baseline two.etl --format json",
        ],
        other => panic!("{other} is in docs/json.md: add command lines that write all of its keys"),
    };
    lines.iter().map(|line| line.split(' ').collect()).collect()
}

/// What a command writes: one object, or one on each line.
fn objects(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let ran = finish(pfnset(&[arguments, &["-q"]].concat()).current_dir(folder));
    let finds_a_difference = ran.code == 1 && matches!(arguments.first(), Some(&("diff" | "check")));
    let is_quiet =
        beside_losses(&ran.err).lines().all(|line| line.contains("DATA WAS LOST") || line.contains("THE FILE "));
    assert!((ran.code == 0 || finds_a_difference) && is_quiet, "{arguments:?}: {}", ran.err);
    let read = serde_json::Deserializer::from_str(&ran.out).into_iter();
    read.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_written() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join("json.md");
    let tables = tables(&std::fs::read_to_string(page).expect("docs/json.md"));
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("room for a trace");
    write("raw.csv", b"Page Category,MMList,Page Frame Number,Thread Id\nImage,Bad,0x100,4\nImage,Bad,0x9999,4\n");
    write("held.csv", b"access_reason,release_reason,impact,pages,bytes\nActiveRundown,held,Persistent,1,4096\n");
    let budgets = "[[budget]]\nname = \"a\"\nwhere = { class = \"File\" }\nmax = \"1 page\"\n\
                   [[budget]]\nname = \"b\"\nanalysis = \"refset\"\nmax_growth = \"1 %\"\n";
    write("budgets.toml", budgets.as_bytes());
    write("trouble.etl", &in_trouble());
    write("two.etl", &one_of_each::trace(2));
    let lossy = Session { events_lost: 3, ..Session::windows10() };
    let fault = memory::hard_fault(P8, 1_000_000_000, 0, 0x7000, 0xffff_8000_0000_1000, 12, 4096);
    write("lossy.etl", &Trace::new(lossy).push(fault.at(1_000_000_100)).finish());
    write("sets.etl", &refset::with_a_set_that_differs());
    write("beside.etl", &Trace::new(recording::beside()).finish());
    let machine = generate_memory(&MemorySpec::default(), std::io::Cursor::new(Vec::new())).expect("a trace").0;
    write("memory.etl", &machine.into_inner());
    for name in [
        "resident-small.etl",
        "refset-small.etl",
        "cpu-compressed.etl",
        "stacks-keys.etl",
        "faults-x86.etl",
        "alloc-x86.etl",
    ] {
        write(name, &std::fs::read(fixtures().join(name)).expect("a fixture"));
    }
    // By their headers, events were lost.
    for name in ["stacks-keys.etl", "alloc-x86.etl"] {
        let mut bytes = std::fs::read(fixtures().join(name)).expect("a fixture");
        bytes[152] = 3;
        write(&format!("less-{name}"), &bytes);
    }
    std::fs::create_dir(folder.path().join("counters")).expect("a folder");
    write("counters/example.csv", &std::fs::read(fixtures().join("counters").join("example.csv")).expect("a fixture"));
    let schemas: BTreeSet<&str> = tables.keys().map(|(schema, _)| schema.as_str()).collect();
    let mut wrong = Vec::new();
    for schema in schemas {
        let mut reader = Reader { schema, tables: &tables, met: BTreeSet::new(), wrong: BTreeSet::new() };
        for arguments in outputs(schema) {
            for value in objects(folder.path(), &arguments) {
                // The rows of `pages` do not name their schema, to stay short.
                assert!(value["schema"] == schema || schema == "pfnset.pages", "{arguments:?}: {}", value["schema"]);
                reader.object(&value, "", "");
            }
        }
        wrong.extend(reader.wrong.iter().cloned());
        wrong.extend(reader.never_met());
    }
    assert!(tables.len() >= 10, "tables were found: {:?}", tables.keys());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The test of the test: what does not fit is found.
#[test]
fn differences_from_the_page_are_found() {
    let page = "# x\n## `s`, version 1\n\n| key | type | meaning |\n|---|---|---|\n| `a.b`, `.c` | text or null, number | |\n\
                | `d` | list | |\n| `d[].e` | `thing` | |\n\n| key of a `thing` | type | meaning |\n|---|---|---|\n\
                | `f` | object of numbers | |\n";
    let tables = tables(page);
    let found = |text: &str| {
        let mut reader = Reader { schema: "s", tables: &tables, met: BTreeSet::new(), wrong: BTreeSet::new() };
        reader.object(&serde_json::from_str(text).unwrap(), "", "");
        reader.wrong.iter().cloned().chain(reader.never_met()).collect::<Vec<_>>()
    };
    assert_eq!(found(r#"{"a":{"b":null,"c":1},"d":[{"e":{"f":{"x":1}}}]}"#), [] as [&str; 0]);
    for (text, says) in [
        (r#"{"a":{"b":1,"c":1},"d":[{"e":{"f":{}}}]}"#, "s:  a.b: is 1, not text or null"),
        (r#"{"a":{"b":"","c":1},"d":[{"e":{"f":{"x":""}}}]}"#, "s: thing f: is {\"x\":\"\"}, not object of numbers"),
        (r#"{"a":{"b":"","c":1,"z":0},"d":[{"e":{"f":{}}}]}"#, "s:  a.z: is written, and not listed in docs/json.md"),
        (r#"{"a":{"b":""},"d":[{"e":{"f":{}}}]}"#, "s:  a.c: is listed, and never written"),
        (r#"{"a":{"b":"","c":1},"d":[{"e":{}}]}"#, "s: thing f: is listed, and never written"),
    ] {
        assert_eq!(found(text), [says]);
    }
}
