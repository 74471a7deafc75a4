//! Payloads from real traces, as far as their fact sheets (`*.expected.json`) quote them whole.
//!
//! The sheets lie beside the traces, in the directory named by `PFNSET_TRACES` or in `../shared/traces/real`. Without
//! them the test says so and passes.

use super::header_group::LogFile;
use super::process::ProcessPhase;
use super::testing::{P4, P8, exercise, with_id};
use super::{Decoded, Event, decode};
use crate::etl::record_id::{HookId, RecordId};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

const SKIPPED: &str = "SKIPPED: no *.expected.json found; set PFNSET_TRACES to the directory of the real traces";

/// Hook ids that the traces hold and that are only counted.
const COUNTED: [u8; 3] = [0x01, 0x06, 0x08];
const COUNTED_CONFIG: [u8; 7] = [0x0d, 0x10, 0x11, 0x12, 0x16, 0x17, 0x1c];

fn is_counted(hook: HookId) -> bool {
    COUNTED.contains(&hook.group()) || hook.group() == 0x0b && COUNTED_CONFIG.contains(&hook.kind())
}

fn sheets() -> Vec<(String, Value)> {
    let directory = std::env::var_os("PFNSET_TRACES").map(PathBuf::from);
    let directory =
        directory.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/real"));
    let Ok(entries) = std::fs::read_dir(&directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let sheets = paths.filter(|path| path.to_string_lossy().ends_with(".expected.json"));
    sheets
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.file_name().unwrap().to_string_lossy().into_owned(), serde_json::from_str(&text).unwrap())
        })
        .collect()
}

/// All quoted records of a sheet, whatever lists they are in.
fn quoted<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) if map.contains_key("payload_hex") => found.push(value),
        Value::Object(map) => map.values().for_each(|value| quoted(value, found)),
        Value::Array(list) => list.iter().for_each(|value| quoted(value, found)),
        _ => {}
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().map(|c| c.to_digit(16).unwrap() as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[test]
fn quoted_payloads_of_real_traces_decode() {
    let sheets = sheets();
    if sheets.is_empty() {
        eprintln!("{SKIPPED}");
        return;
    }
    let (mut decoded, mut names, mut hooks) = (0, BTreeSet::new(), BTreeSet::new());
    for (sheet, facts) in &sheets {
        let mut records = Vec::new();
        quoted(&facts["events"], &mut records);
        for record in records {
            let Some(hook) = record["kernel_hook_id"].as_str() else { continue };
            let hook = HookId(u16::from_str_radix(hook.trim_start_matches("0x"), 16).unwrap());
            let payload = bytes(record["payload_hex"].as_str().unwrap());
            if payload.len() as u64 != record["payload_length_bytes"].as_u64().unwrap() {
                assert!(!record["payload_hex_truncated_to_bytes"].is_null(), "{sheet} {hook}");
                continue;
            }
            let version = record["version"].as_u64().unwrap() as u8;
            let pointer = if matches!(record["header_type"].as_u64().unwrap(), 1 | 3 | 16) { P4 } else { P8 };
            match decode(&with_id(RecordId::Kernel(hook), version, pointer, &payload)) {
                Decoded::Event { event, surplus: None } => {
                    assert!(!is_counted(hook), "{sheet} {hook}");
                    exercise(&event);
                    decoded += 1;
                    hooks.insert(hook);
                    if let Event::Process { phase: ProcessPhase::DcStart | ProcessPhase::DcEnd, process } = event {
                        names.insert(process.image_name.to_string());
                        assert!(process.sid.is_some_and(|sid| sid.to_string().starts_with("S-1-5-")), "{sheet}");
                    }
                }
                Decoded::NotDecoded => assert!(is_counted(hook), "{sheet} {hook}"),
                other => panic!("{sheet} {hook}: {other:?}"),
            }
        }
    }
    eprintln!("{decoded} payloads of {} kinds decoded from {} sheets", hooks.len(), sheets.len());
    if sheets.iter().any(|(name, _)| name.starts_with("net.4.5.2")) {
        assert!(names.contains("Idle") && names.contains("System"), "{names:?}");
        assert!(hooks.len() >= 25, "{hooks:?}");
    }
}

#[test]
fn quoted_starts_of_log_file_headers_agree_with_the_sheets() {
    let sheets = sheets();
    if sheets.is_empty() {
        eprintln!("{SKIPPED}");
    }
    for (sheet, facts) in &sheets {
        let first = &facts["events"]["first_event_in_file_order"];
        let mut payload = bytes(first["payload_hex"].as_str().unwrap());
        // The sheets quote 128 bytes; the rest holds the time zone's names, the clock, and strings. Zeros stand in.
        payload.resize(payload.len().max(288), 0);
        let pointer = if first["header_type"] == 1 { P4 } else { P8 };
        let record = with_id(RecordId::Kernel(HookId(0)), 2, pointer, &payload);
        let Decoded::Event { event: Event::LogFile(LogFile { header, .. }), .. } = decode(&record) else {
            panic!("{sheet}")
        };
        let facts = &facts["log_file_header"];
        assert_eq!(facts["operating_system_build_number"], header.os_build, "{sheet}");
        assert_eq!(facts["number_of_processors"], header.processors);
        assert_eq!(facts["events_lost"], header.events_lost);
        assert_eq!(facts["cpu_speed_mhz"], header.cpu_mhz);
        assert_eq!(facts["buffers_written"], header.buffers_written);
        assert_eq!(facts["time_zone_bias_minutes"], header.time_zone_bias_minutes);
        assert_eq!(facts["pointer_size_bytes"], header.pointer_bytes);
        assert_eq!(facts["end_time_filetime"], header.end_time.map_or(0, |time| time.0));
    }
}
