//! `pfnset counter`: types explained, files of samples in the forms that programs write, and what is wrong with a file.

use crate::program::{Ran, finish, fixtures, out, pfnset, run};
use serde_json::{Value, json};

/// Runs `counter --csv` on a file with these bytes.
fn samples(bytes: &[u8], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("samples.csv"), bytes).expect("room for samples");
    finish(pfnset(&[&["counter", "--csv", "samples.csv"], more].concat()).current_dir(folder.path()))
}

/// Values and reasons of a file that is read.
fn values(bytes: &[u8]) -> Vec<String> {
    let ran = samples(bytes, &["--format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", String::from_utf8_lossy(bytes));
    let json: Value = serde_json::from_str(&ran.out).expect("JSON");
    let text = |row: &Value| [&row["value"], &row["reason"]].iter().find_map(|v| v.as_str()).unwrap().to_owned();
    json["rows"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn types_are_explained() {
    insta::assert_snapshot!("counter_types", out(&["counter"]));
    for (name, arguments) in [
        ("counter_rate", &["0x10410400"][..]),
        // As documents write it.
        ("counter_rate", &["10410400"]),
        ("counter_multi", &["PERF_COUNTER_MULTI_TIMER_INV"]),
        ("counter_average", &["AverageTimer32"]),
        ("counter_elapsed", &["elapsed_time"]),
        ("counter_timestamp", &["PERF_PRECISION_TIMESTAMP"]),
        ("counter_unknown", &["558302464"]),
        ("counter_two", &["0x20410500", "0x80000000"]),
    ] {
        insta::assert_snapshot!(name, out(&[&["counter"], arguments].concat()));
    }
    let all: Value = serde_json::from_str(&out(&["counter", "--format", "json"])).unwrap();
    assert_eq!(all["types"].as_array().unwrap().len(), 41);
    for columns in ["60", "80"] {
        let narrow = finish(pfnset(&["counter"]).env("COLUMNS", columns)).out;
        for known in all["types"].as_array().unwrap() {
            for key in ["word", "name", "formula", "dotnet"] {
                let text = known[key].as_str().unwrap_or_default();
                assert!(narrow.contains(text), "{key} {text} at {columns} columns: {narrow}");
            }
        }
        assert!(!narrow.contains("Not shown"), "{narrow}");
    }
    let narrow = finish(pfnset(&["counter", "AverageTimer32"]).env("COLUMNS", "60")).out;
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
}

#[test]
fn names_of_counters_are_never_cut() {
    let name = "\\PhysicalDisk(0 C:)\\Avg. Disk sec/Read of a long name that needs two lines";
    let file = format!("Counter,CounterType,RawValue\n{name},PERF_COUNTER_RAWCOUNT,5\n");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.csv"), file).unwrap();
    let ran = finish(pfnset(&["counter", "--csv", "s.csv"]).current_dir(folder.path()).env("COLUMNS", "60"));
    assert!(!ran.out.contains('…'), "{}", ran.out);
    assert!(name.split(' ').all(|word| ran.out.contains(word)), "{}", ran.out);
}

#[test]
fn a_file_of_samples_is_calculated_in_all_forms() {
    let file = "counters/example.csv";
    for form in ["table", "csv", "json", "jsonl", "markdown"] {
        insta::assert_snapshot!(format!("counter_samples_{form}"), out(&["counter", "--csv", file, "--format", form]));
    }
    let bytes = std::fs::read(fixtures().join(file)).unwrap();
    let from_stdin = finish(pfnset(&["counter", "--csv", "-", "--format", "csv"]).write_stdin(bytes));
    assert_eq!(from_stdin.out, out(&["counter", "--csv", file, "--format", "csv"]));
}

/// `(Get-Counter …).CounterSamples | Export-Csv`: the second value is the base or the time, the time stamp a date.
#[test]
fn what_get_counter_exports_is_read() {
    let rows = "#TYPE Microsoft.PowerShell.Commands.GetCounter.PerformanceCounterSample\r\n\
        \"Path\",\"InstanceName\",\"CookedValue\",\"RawValue\",\"SecondValue\",\"MultipleCount\",\"CounterType\",\
        \"Timestamp\",\"Timestamp100NSec\",\"Status\",\"DefaultScale\",\"TimeBase\"\r\n\
        \"\\\\pc\\processor(0)\\% processor time\",\"0\",\"0\",\"100\",\"1000\",\"1\",\"Timer100NsInverse\",\
        \"11/21/2026 4:00:00 PM\",\"134000000000000000\",\"0\",\"0\",\"10000000\"\r\n\
        \"\\\\pc\\disk\\avg. disk sec/read\",\"\",\"0\",\"1000\",\"10\",\"1\",\"AverageTimer32\",\
        \"11/21/2026 4:00:00 PM\",\"134000000000000000\",\"0\",\"0\",\"10000000\"\r\n\
        \"\\\\pc\\x\\multi\",\"\",\"0\",\"0\",\"0\",\"4\",\"CounterMultiTimer\",\
        \"11/21/2026 4:00:00 PM\",\"134000000000000000\",\"0\",\"0\",\"10000000\"\r\n\
        \"\\\\pc\\processor(0)\\% processor time\",\"0\",\"0\",\"600\",\"2000\",\"1\",\"Timer100NsInverse\",\
        \"11/21/2026 4:00:01 PM\",\"134000000010000000\",\"0\",\"0\",\"10000000\"\r\n\
        \"\\\\pc\\disk\\avg. disk sec/read\",\"\",\"0\",\"1001000\",\"30\",\"1\",\"AverageTimer32\",\
        \"11/21/2026 4:00:01 PM\",\"134000000010000000\",\"0\",\"0\",\"10000000\"\r\n\
        \"\\\\pc\\x\\multi\",\"\",\"0\",\"100\",\"100\",\"5\",\"CounterMultiTimer\",\
        \"11/21/2026 4:00:01 PM\",\"134000000010000000\",\"0\",\"0\",\"10000000\"\r\n";
    let two = "needs-two-samples";
    let expected = [two, two, two, "50.000000", "0.005000", "20.000000"];
    assert_eq!(values(rows.as_bytes()), expected);
    let wide = |bom: [u8; 2], of: fn(u16) -> [u8; 2]| {
        [&bom[..], &rows.encode_utf16().flat_map(of).collect::<Vec<_>>()].concat()
    };
    assert_eq!(values(&wide([0xff, 0xfe], u16::to_le_bytes)), expected);
    assert_eq!(values(&wide([0xfe, 0xff], u16::to_be_bytes)), expected);
    assert_eq!(values(&[b"\xef\xbb\xbf", rows.as_bytes()].concat()), expected);
    for delimiter in [";", "\t"] {
        assert_eq!(values(rows.replace(',', delimiter).as_bytes()), expected);
    }
}

#[test]
fn headings_of_net_are_synonyms_in_any_order_and_case() {
    let rows = "name,systemfrequency,TIMESTAMP,rawvalue,COUNTERTYPE,unused\n\
                a,10,100,5,RateOfCountsPerSecond32,x\na,10,110,8,272696320,y\n";
    assert_eq!(values(rows.as_bytes()), ["needs-two-samples", "3.000000"]);
}

#[test]
fn time_is_that_of_the_counter() {
    let rows = "Counter,CounterType,RawValue,Timestamp_PerfTime,Frequency_PerfTime,Timestamp_Sys100NS\n\
                a,PERF_COUNTER_COUNTER,1,100,10,0\nb,PERF_COUNTER_RAWCOUNT,1,100,10,50000000\n\
                a,PERF_COUNTER_COUNTER,2,125,10,9\nb,PERF_COUNTER_RAWCOUNT,2,200,10,65000000\n\
                c,PERF_COUNTER_RAWCOUNT,2,7,,\n";
    let ran = samples(rows.as_bytes(), &["--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let times: Vec<&Value> = json["rows"].as_array().unwrap().iter().map(|row| &row["time_s"]).collect();
    assert_eq!(times, [&json!(0.0), &json!(0.0), &json!(2.5), &json!(1.5), &Value::Null]);
}

#[test]
fn unknown_types_are_decoded_and_counted_on() {
    let rows = "Counter,CounterType,RawValue\na,0x21470500,1\nb,0x10000,7\n";
    let ran = samples(rows.as_bytes(), &["--format", "csv"]);
    let lines: Vec<&str> = ran.out.lines().skip(1).collect();
    assert_eq!(lines, ["a,,0x21470500,,,,unknown-type,", "b,,PERF_COUNTER_RAWCOUNT,7.000000,7,,,"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_line_and_column() {
    let headings = "Counter,CounterType,RawValue,BaseValue\n";
    let of = |rows: &str| format!("{headings}{rows}").into_bytes();
    for (bytes, says) in [
        (b"".to_vec(), "line 1: the file is empty"),
        (b"Counter,RawValue\na,1\n".to_vec(), "line 1: column CounterType is missing"),
        (b"CounterType,RawValue\n1,1\n".to_vec(), "line 1: column Path or Counter or Name is missing"),
        (b"Counter,CounterType,RawValue,rawvalue\n".to_vec(), "line 1: column RawValue occurs twice"),
        (of("a,0x10000,1,\na,0x10000,many,\n"), "line 3: column RawValue: \"many\" is no whole number"),
        (of("a,0x10000,-1,\n"), "line 2: column RawValue: \"-1\""),
        (of("a,0x10000,18446744073709551616,\n"), "line 2: column RawValue"),
        (of("\"a\nb\",0x10000,1,\na,0x10000,1,1.5\n"), "line 4: column BaseValue: \"1.5\""),
        (of("a,PERF_COUNTER_TIMR,1,\n"), "line 2: column CounterType: \"PERF_COUNTER_TIMR\" is no counter type"),
        (of("a,0x10000,1,\na,0x10000\n"), "line 3: 2 columns instead of 4; column RawValue is missing"),
        (of("a,0x10000,1,,5\n"), "line 2: 5 columns instead of 4"),
        (vec![0; 2 << 20], "line 1: the line of headings is longer than"),
    ] {
        let ran = samples(&bytes, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
        assert!(ran.err.starts_with("pfnset: samples.csv, ") && ran.err.contains(says), "{says}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1);
    }
    let ran = run(&["counter", "--csv", "none.csv"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("cannot read none.csv"), "{}", ran.err);
}

#[test]
fn wrong_usage_is_code_2_and_the_samples_are_never_overwritten() {
    for arguments in [&["counter", "nonsense"][..], &["counter", "0x10000", "--csv", "x"], &["counter", "--csv"]] {
        assert_eq!(run(arguments).code, 2, "{arguments:?}");
    }
    let ran = samples(b"Counter,CounterType,RawValue\na,0x10000,1\n", &["-o", "samples.csv"]);
    assert!(ran.code == 2 && ran.err.contains("is the file of samples itself"), "{ran:?}");
}

/// The instance of WMI's rows stands in its own column: samples of all instances were those of one counter.
#[test]
fn instances_beside_the_counter_are_kept_apart() {
    let rows = "Counter,Name,CounterType,RawValue,TimeStamp,SystemFrequency\n\
                x,0,272696320,100,10,10\nx,1,272696320,500,10,10\nx,0,272696320,200,20,10\nx,1,272696320,900,20,10\nx,,65536,7,,\n";
    let two = "needs-two-samples";
    assert_eq!(values(rows.as_bytes()), [two, two, "100.000000", "400.000000", "7.000000"]);
    let ran = samples(rows.as_bytes(), &["--format", "csv"]);
    assert!(ran.out.contains("x (1),1.000000,") && ran.out.contains("\nx,,PERF_COUNTER_RAWCOUNT,7"), "{ran:?}");
}

/// Of a time in `SecondValue` and one in another column there is no difference: it was taken all the same.
#[test]
fn second_values_that_are_half_filled_in_are_not_mixed_with_others() {
    let rows = "Counter,CounterType,RawValue,SecondValue,TimeStamp,SystemFrequency\n\
                y,272696320,100,500,10,10\ny,272696320,200,,20,10\ny,272696320,300,700,30,10\ny,272696320,400,710,40,10\n\
                z,272696320,100,500,,10\nz,272696320,200,,20,10\n";
    let (two, each) = ("needs-two-samples", "100.000000");
    assert_eq!(values(rows.as_bytes()), [two, each, each, each, two, "no-time"]);
    let json: Value = serde_json::from_str(&samples(rows.as_bytes(), &["--format", "json"]).out).expect("JSON");
    let times: Vec<&Value> = json["rows"].as_array().expect("rows").iter().map(|row| &row["time_s"]).collect();
    assert_eq!(times[..4], [&json!(0.0), &Value::Null, &json!(20.0), &json!(21.0)]);
}

#[test]
fn clocks_that_disagree_are_told() {
    let notes = |ticks: u64, system: u64, counter_type: &str| {
        let rows = format!(
            "Counter,CounterType,RawValue,TimeStamp,SystemFrequency,Timestamp_Sys100NS\n\
             x,{counter_type},100,1000,1000,0\nx,{counter_type},200,{ticks},1000,{system}\n"
        );
        let json: Value = serde_json::from_str(&samples(rows.as_bytes(), &["--format", "json"]).out).expect("JSON");
        json["rows"][1]["notes"].clone()
    };
    let rate = "272696320";
    assert_eq!(
        (notes(2000, 100_000_000, rate), notes(2000, 10_500_000, rate)),
        (json!(["clocks-disagree"]), json!([]))
    );
    // Steps of the system's clock, and a value that needs no time.
    assert_eq!((notes(1010, 156_250, rate), notes(2000, 100_000_000, "65536")), (json!([]), json!([])));
}

/// The value is by the newest frequency, which says nothing of the time before it.
#[test]
fn a_frequency_that_changes_is_told() {
    let notes = |frequency: u64, counter_type: &str| {
        let rows = format!(
            "Counter,CounterType,RawValue,TimeStamp,SystemFrequency\n\
             x,{counter_type},100,1000,1000\nx,{counter_type},200,2000,{frequency}\n"
        );
        let json: Value = serde_json::from_str(&samples(rows.as_bytes(), &["--format", "json"]).out).expect("JSON");
        json["rows"][1]["notes"].clone()
    };
    let rate = "272696320";
    assert_eq!((notes(1000, rate), notes(2000, rate)), (json!([]), json!(["frequency-changed"])));
    assert_eq!(notes(2000, "65536"), json!([]));
}

/// Of two headings of one number the second was ignored, whatever it said.
#[test]
fn two_headings_of_one_number_must_agree() {
    let of = |headings: &str, rows: [&str; 2]| {
        let [first, second] = rows;
        let file =
            format!("Counter,CounterType,RawValue,{headings}\na,272696320,1000,{first}\na,272696320,1500,{second}\n");
        samples(file.as_bytes(), &["--format", "csv"])
    };
    for (headings, rows, says) in [
        (
            "Timestamp_PerfTime,TimeStamp,Frequency_PerfTime",
            ["0,0,10", "10,20,10"],
            "line 3: column Timestamp_PerfTime: 10 is not 20, as column TimeStamp says",
        ),
        (
            "TimeStamp,SystemFrequency,Frequency_PerfTime",
            ["0,0x14,10", "10,10,10"],
            "line 2: column Frequency_PerfTime: 10 is not 20, as column SystemFrequency says",
        ),
        (
            "TimeStamp,SystemFrequency,Timestamp_Sys100NS,Timestamp100NSec",
            ["0,10,0,0", "10,10,1,2"],
            "line 3: column Timestamp_Sys100NS: 1 is not 2, as column Timestamp100NSec says",
        ),
    ] {
        let ran = of(headings, rows);
        assert!(ran.code == 3 && ran.out.is_empty() && ran.err.contains(says), "{says}: {ran:?}");
    }
    // The same numbers, an empty cell, a date; clocks of their own; PowerShell's `Timestamp` beside `SecondValue`.
    for (headings, rows) in [
        ("Timestamp_PerfTime,TimeStamp,Frequency_PerfTime", ["0,0x0,10", "10,,10"]),
        ("Timestamp_PerfTime,Timestamp,Frequency_PerfTime", ["0,1/2/2024 3:04:05 PM,10", "10,1/2/2024 3:04:06 PM,10"]),
        ("Timestamp_PerfTime,Timestamp_Sys100NS,Frequency_PerfTime", ["0,5,10", "10,10000005,10"]),
        ("Timestamp_PerfTime,Timestamp,SecondValue,TimeBase", ["7,1,0,10", "8,2,10,10"]),
    ] {
        let ran = of(headings, rows);
        assert!(ran.code == 0 && ran.out.contains(",500.000000,"), "{headings}: {ran:?}");
    }
}
