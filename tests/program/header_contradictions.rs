//! Log-file headers and headers of buffers that the records, or each other, contradict: every command says so.

use crate::one_of_each::{records, session};
use crate::program::run;
use crate::trust::{ACCESSES, fixture, places, with};
use etl_writer::Ptr::P8;
use etl_writer::payloads::memory;
use etl_writer::{Session, Trace, file_of};
use serde_json::Value;
use tempfile::NamedTempFile;

/// All records behind it were left out without a word.
#[test]
fn a_buffer_whose_offset_ends_before_its_records_is_damaged() {
    let whole = fixture("refset-small.etl");
    let second = u32::from_le_bytes(whole[..4].try_into().unwrap()) as usize;
    let mut trace = whole.clone();
    trace[second + 0x30..second + 0x34].copy_from_slice(&0x48u32.to_le_bytes());
    for command in ["info", "refset", "processes", "events"] {
        let ran = with(command, &trace, &["--format", "json", "--strict"]);
        let says = "Offset 0x48 of buffer 1 at offset 0x10048: expected filler behind it, found a record";
        assert!(ran.code == 3 && ran.out.contains(says), "{command}: {ran:?}");
        assert!(!with(command, &whole, &["--format", "json"]).out.contains("expected filler"), "{command}");
    }
}

#[test]
fn a_header_that_the_records_contradict_is_told_by_every_command() {
    let whole = fixture("refset-small.etl");
    let changed = |at: usize, bytes: &[u8]| {
        let mut trace = whole.clone();
        trace[at..at + bytes.len()].copy_from_slice(bytes);
        trace
    };
    let frequency = u64::from_le_bytes(whole[0x168..0x170].try_into().unwrap());
    // The time stands at 0x10 in the headers of types 1 to 4, and at 8 in the shortest ones.
    let record = places(&whole, &ACCESSES)[0].start;
    let late = record + if whole[record + 2] <= 4 { 0x10 } else { 8 };
    let pool = places(&whole, &[0x0e20])[0].start;
    let late_pool = pool + if whole[pool + 2] <= 4 { 0x10 } else { 8 };
    let stamp = u64::from_le_bytes(whole[late..late + 8].try_into().unwrap()) + 600 * frequency;
    let second = u32::from_le_bytes(whole[..4].try_into().unwrap()) as usize;
    // The next buffer once more with another ReferenceCount (a copy of all bytes is not counted), and one with the number of the
    // buffer before it on its processor.
    let mut twice = [whole.as_slice(), &whole[second..2 * second]].concat();
    twice[whole.len() + 0xc] ^= 1;
    let (one, next) = two_buffers_of_a_processor(&whole, second);
    let start = u64::from_le_bytes(whole[0x170..0x178].try_into().unwrap());
    for (says, trace) in [
        ("THE END IS BEFORE THE START: by 2.000 s", changed(0x78, &(start - 20_000_000).to_le_bytes())),
        ("BUFFERS REPEAT: 1 buffer has the processor, the sequence number and the times", twice),
        (
            "BUFFERS REPEAT: 1 buffer has the sequence number of another one",
            changed(next + 0x18, &whole[one + 0x18..one + 0x20]),
        ),
        // The buffers of another file put behind those of the first one.
        ("TOO MANY BUFFERS: the file holds 10, and its header counts 4", changed(0x8c, &4u32.to_le_bytes())),
        ("THE CLOCK IS IMPOSSIBLE", changed(0x168, &(-5i64).to_le_bytes())),
        ("THE CLOCK IS IMPOSSIBLE", changed(0x168, &1000i64.to_le_bytes())),
        ("THE CLOCK IS UNKNOWN", changed(0x168, &0u64.to_le_bytes())),
        ("TIMES CONTRADICT", changed(0x168, &(frequency / 3).to_le_bytes())),
        ("TIMES CONTRADICT", changed(late_pool, &stamp.to_le_bytes())),
        ("TIMES CONTRADICT", changed(late, &stamp.to_le_bytes())),
        ("A PROCESSOR IS IMPOSSIBLE", changed(second + 0x28, &77u16.to_le_bytes())),
        ("THE POINTER SIZE CONTRADICTS", changed(0x94, &4u32.to_le_bytes())),
    ] {
        let info: Value = serde_json::from_str(&with("info", &trace, &["--format", "json"]).out).unwrap();
        assert_eq!(info["trust"], "header_contradicts", "{says}");
        for command in ["info", "refset", "processes", "events"] {
            let ran = with(command, &trace, &["--format", "json", "--strict"]);
            let json: Value = serde_json::from_str(&ran.out).unwrap();
            let told = json["warnings"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains(says));
            assert!(ran.code == 3 && told, "{command} {says}: {} {}", json["warnings"], ran.err);
        }
    }
    let info: Value = serde_json::from_str(&with("info", &whole, &["--format", "json"]).out).unwrap();
    assert_eq!(info["trust"], "with_care", "{info}");
    // Without a start, dates are not known, and nothing else is wrong.
    let info = with("info", &changed(0x170, &0u64.to_le_bytes()), &[]);
    assert!(info.out.contains("no true start time (year 1601)"), "{info:?}");
}

/// Where two data buffers of one processor begin, one after the other.
fn two_buffers_of_a_processor(bytes: &[u8], size: usize) -> (usize, usize) {
    let data: Vec<usize> = (1..bytes.len() / size).map(|number| number * size).collect();
    let processor = |at: usize| u16::from_le_bytes(bytes[at + 0x28..at + 0x2a].try_into().unwrap());
    let pairs = data.iter().flat_map(|one| data.iter().filter(move |next| *next > one).map(move |next| (*one, *next)));
    pairs.into_iter().find(|(one, next)| processor(*one) == processor(*next)).expect("two buffers of a processor")
}

#[test]
fn a_clock_or_a_header_stamp_that_the_dates_of_the_header_contradict_is_told() {
    let whole = fixture("resident-small.etl"); // 3.002 s
    let number = |at: usize| i64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let changed = |at: usize, value: i64| {
        let mut trace = whole.clone();
        trace[at..at + 8].copy_from_slice(&value.to_le_bytes());
        trace
    };
    let (frequency, stamp) = (0x168, 0x58);
    let hz = number(frequency);
    let codes = |trace: &[u8]| {
        let mut ran = with("info", trace, &["--strict"]);
        ran.out = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        let says =
            ["TIMES END FAR BEFORE THE HEADER'S END: ", "TIMES BEFORE THE START: "].map(|says| ran.out.contains(says));
        (says, ran)
    };
    let (says, ran) = codes(&changed(frequency, 200 * hz));
    assert!(says == [true, false] && ran.code == 3, "{}", ran.out);
    for (seconds, more) in [(2, "end before its end by as much"), (10, "none follows it")] {
        let (says, ran) = codes(&changed(stamp, number(stamp) + seconds * hz));
        assert!(says == [false, true] && ran.code == 3 && ran.out.contains(more), "{seconds}: {}", ran.out);
    }
    // A frequency that is twice too high can be a slow stop, as long as the date of the boot does not agree with it.
    let twice = changed(frequency, 2 * hz);
    let (_, ran) = codes(&twice);
    assert!(ran.code == 0 && ran.out.contains("times end well before the header's end: "), "{}", ran.out);
    let mut since_boot = twice;
    let uptime = number(stamp) * 10_000_000 / hz; // by the clock as it was
    since_boot[0x160..0x168].copy_from_slice(&(number(0x170) - uptime).to_le_bytes());
    let (says, ran) = codes(&since_boot);
    assert!(says == [true, false] && ran.code == 3, "{}", ran.out);
    since_boot[frequency..frequency + 8].copy_from_slice(&hz.to_le_bytes());
    assert!(!codes(&since_boot).1.out.contains("before the header's end"));
    // What a slow stop or a merge can bring about.
    for trace in [changed(frequency, 2 * hz), changed(stamp, number(stamp) + hz / 20)] {
        assert_eq!(codes(&trace).0, [false, false]);
    }
    // The recording ends three seconds later, and a header of a session that began later than the kernel's.
    let slow = changed(0x78, number(0x78) + 30_000_000);
    assert_eq!(codes(&slow).0, [false, false]);
    let mut merged = slow;
    merged[stamp..stamp + 8].copy_from_slice(&(number(stamp) + hz).to_le_bytes());
    assert_eq!(codes(&merged).0, [false, false]);
}

/// Hard faults of two processors, as many ticks late on each of them; the header's record has the stamp of the session.
fn faults(late: [i64; 2]) -> NamedTempFile {
    let session = Session { processors: 2, ..Session::windows10() };
    let t0 = session.t0;
    let fault = |n: u64| {
        let at = (t0 + n * 100_000).wrapping_add_signed(late[n as usize % 2]);
        memory::hard_fault(P8, at - 50, 0, 0x7ff6_0000_0000, 0xa000, 44, 4096).at(at).on((n % 2) as u16)
    };
    file_of(&Trace::new(session).push_all((1..=80).map(fault)).finish())
}

/// Events before time 0 were in every number of `stacks`, `events` and `info`, and only `faults` and `cpu` said so.
#[test]
fn events_before_the_header_are_told_by_every_command() {
    const SECOND: i64 = 10_000_000;
    let says = [
        "TIMES BEFORE THE START: all events of processor 1 (40 of them) lie before",
        "s before the log-file header's record, where",
    ];
    let told = |file: &NamedTempFile| {
        let path = file.path().to_str().expect("UTF-8");
        let lines =
            [&["info", path][..], &["events", path], &["stacks", path, "--of", "hard-fault"], &["faults", path]];
        lines.map(|line| {
            let ran = run(&[line, &["--strict", "--format", "json"]].concat());
            let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
            let warnings = json["warnings"].to_string();
            (ran.code, says.map(|says| warnings.contains(says)))
        })
    };
    // One processor is ten seconds early.
    assert_eq!(told(&faults([0, -10 * SECOND])), [(3, [true, false]); 4]);
    // The header is of a session that began 300 ms later: only `faults`, and with it `info --strict`, counts none of what was before.
    assert_eq!(
        told(&faults([-3 * SECOND / 10; 2])),
        [(3, [false, true]), (0, [false, true]), (0, [false, true]), (3, [false, true])]
    );
    // A moment is none, and after the header all is well.
    for late in [[0, -105_000], [0, 0]] {
        assert_eq!(told(&faults(late)).map(|(_, told)| told), [[false, false]; 4], "{late:?}");
    }
}

/// A buffer that a tool wrote once more under a new number. With the time of its flush it counts once; without, the records tell.
#[test]
fn buffers_that_are_there_again_under_another_number_are_told() {
    let whole = fixture("refset-small.etl");
    let size = u32::from_le_bytes(whole[..4].try_into().unwrap()) as usize;
    let last = (whole.len() / size) as u64;
    let copied = |flushed: Option<u64>| {
        let mut bytes = [whole.as_slice(), &whole[2 * size..3 * size]].concat();
        let copy = &mut bytes[whole.len()..];
        copy[0x18..0x20].copy_from_slice(&last.to_le_bytes());
        flushed.into_iter().for_each(|time| copy[0x10..0x18].copy_from_slice(&time.to_le_bytes()));
        bytes
    };
    let events = |bytes: &[u8]| {
        let json: Value = serde_json::from_str(&with("info", bytes, &["--format", "json"]).out).unwrap();
        (json["file"]["events"].clone(), json["warnings"].to_string())
    };
    let (all, _) = events(&whole);
    let (once, told) = events(&copied(None));
    assert!(once == all && told.contains("a copy under another number that is not counted"), "{told}");
    assert!(!told.contains("buffer is missing") && !told.contains("DATA WAS LOST"), "{told}");
    let flushed = u64::from_le_bytes(whole[2 * size + 0x10..2 * size + 0x18].try_into().unwrap());
    let (twice, told) = events(&copied(Some(flushed + 1)));
    let says =
        "BUFFERS REPEAT: 1 buffer has the processor and the records of another one under another sequence number";
    assert!(twice != all && told.contains(says), "{told}");
    for command in ["refset", "processes", "events"] {
        assert_eq!(with(command, &copied(None), &["--strict"]).code, 3);
        assert_eq!(with(command, &copied(Some(flushed + 1)), &["--strict"]).code, 3);
    }
}

/// A recording that was merged with itself had each event twice in every sum, without a word.
#[test]
fn records_that_are_there_twice_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sums = Vec::new();
    for (name, copies) in [("once.etl", 1), ("twice.etl", 2)] {
        let records = records(2, Vec::new()).into_iter().flat_map(|rec| vec![rec; copies]);
        let path = folder.path().join(name);
        std::fs::write(&path, Trace::new(session()).push_all(records).finish()).expect("room for a file");
        let path = path.to_str().expect("UTF-8");
        let ran = run(&["info", path, "--format", "json"]);
        let info: Value = serde_json::from_str(&ran.out).unwrap();
        sums.push(info["file"]["events"].as_u64().unwrap());
        let says = "RECORDS REPEAT: ";
        assert_eq!(info["warnings"].to_string().contains(says), copies == 2, "{}", info["warnings"]);
        for command in ["resident", "processes", "events"] {
            let ran = run(&[command, path, "--strict", "--format", "json"]);
            assert_eq!(ran.out.contains(says), copies == 2, "{command}: {}", ran.out);
            assert!(copies == 1 || ran.code == 3, "{command}: {}", ran.err);
        }
    }
    assert_eq!(sums[1], 2 * sums[0] - 1, "all but the header of the file");
}
