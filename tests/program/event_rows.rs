//! `pfnset events --rows`: a row for each record, in every form.

use crate::program::{out, run};
use serde_json::Value;

const TRACES: [&str; 6] = [
    "resident-small.etl",
    "refset-small.etl",
    "cpu-compressed.etl",
    "stacks-keys.etl",
    "faults-x86.etl",
    "refset-proved.etl",
];

fn rows(trace: &str, more: &[&str]) -> Vec<Value> {
    let text = out(&[&["events", trace, "--rows", "-q", "--format", "jsonl"], more].concat());
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn each_record_has_a_row_in_the_order_of_time() {
    for trace in TRACES {
        let all = rows(trace, &[]);
        let summary: Value = serde_json::from_str(&out(&["events", trace, "-q", "--format", "json"])).expect("JSON");
        assert_eq!(Some(all.len() as u64), summary["total"].as_u64(), "{trace}");
        assert!(all.is_sorted_by(|a, b| a["time_s"].as_f64() <= b["time_s"].as_f64()), "{trace}");
        for row in &all {
            let has_payload = row["payload"].is_string();
            assert_eq!(row["schema"].is_null(), has_payload, "{trace}: {row}");
            assert_eq!(row["fields"].is_object(), !has_payload, "{trace}: {row}");
        }
        let with_fields = all.iter().filter(|row| row["fields"].is_object()).count();
        assert!(with_fields * 2 > all.len(), "{trace}: {with_fields} of {}", all.len());
    }
}

#[test]
fn fields_are_those_of_the_tables() {
    let started = rows("refset-small.etl", &["--name", "Process: DCStart"]);
    assert!(!started.is_empty());
    let processes: Value =
        serde_json::from_str(&out(&["processes", "refset-small.etl", "-q", "--format", "json"])).expect("JSON");
    let ids: Vec<&Value> =
        processes["processes"].as_array().expect("a list").iter().map(|process| &process["pid"]).collect();
    assert!(started.iter().all(|row| ids.contains(&&row["fields"]["ProcessId"])), "{ids:?}");
    let faults: Value =
        serde_json::from_str(&out(&["faults", "faults-x86.etl", "-q", "--format", "json"])).expect("JSON");
    let of = |name: &str| rows("faults-x86.etl", &["--name", name]);
    let bytes =
        |rows: Vec<Value>, field: &str| rows.iter().filter_map(|row| row["fields"][field].as_u64()).sum::<u64>();
    assert_eq!(Some(bytes(of("Memory: HardFault"), "ByteCount")), faults["hard"]["bytes"].as_u64());
    assert_eq!(Some(bytes(of("DiskIo: Read;DiskIo: Write"), "TransferSize")), faults["disk"]["bytes"].as_u64());
}

#[test]
fn windows_filters_and_heads_choose_rows() {
    let all = rows("faults-x86.etl", &[]);
    assert_eq!(rows("faults-x86.etl", &["--head", "7"]), all[..7]);
    let part = rows("faults-x86.etl", &["--from", "0.1", "--to", "0.2"]);
    let expected: Vec<&Value> =
        all.iter().filter(|row| row["time_s"].as_f64().is_some_and(|time| (0.1..0.2).contains(&time))).collect();
    assert!(!part.is_empty() && part.iter().eq(expected));
    let provider = rows("faults-x86.etl", &["--provider", "DiskIo"]);
    assert!(
        !provider.is_empty() && provider.iter().all(|row| row["event"].as_str().unwrap_or("").starts_with("DiskIo: "))
    );
    let ran = run(&["events", "faults-x86.etl", "--rows", "--name", "nothing*", "--format", "jsonl"]);
    assert!(ran.code == 0 && ran.out.is_empty() && ran.err.contains("matches nothing"), "{ran:?}");
}

#[test]
fn forms_for_people_and_spreadsheets() {
    insta::assert_snapshot!(out(&["events", "faults-x86.etl", "--rows", "-q", "--head", "24"]));
    let csv = out(&["events", "faults-x86.etl", "--rows", "-q", "--format", "csv"]);
    let mut reader = csv.lines();
    assert!(reader.next().is_some_and(|heading| heading.starts_with("time_s,processor,process,pid,")));
    assert_eq!(reader.count(), rows("faults-x86.etl", &[]).len());
    for (more, says) in [
        (&["--rows", "--format", "json"][..], "has the forms table, csv and jsonl"),
        (&["--rows", "--digest"], "cannot be used with"),
        (&["--head", "3"], "--rows"),
    ] {
        let ran = run(&[&["events", "faults-x86.etl"], more].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{more:?}: {ran:?}");
    }
}
