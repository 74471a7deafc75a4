//! `pfnset cpu` by samples that cannot be: they stand for more time than there is.

use crate::program::run;
use etl_writer::Ptr::P8;
use etl_writer::payloads::perf::interval;
use etl_writer::{Rec, Session, Trace, file_of};
use serde_json::Value;

/// A sample of thread 44 each millisecond, for a fifth of a second on the only processor; each record stands for `count` of them.
fn doubts(count: u16) -> Vec<String> {
    let session = Session { processors: 1, ..Session::windows10() };
    let t0 = session.t0;
    let mut records = vec![interval(P8, 2, 0x0f49, 0, 10_000, 10_000).at(t0 + 10)];
    let payload = [&0xffff_f800_0000_1000u64.to_le_bytes()[..], &44u32.to_le_bytes(), &count.to_le_bytes(), &[0, 0]];
    let sample = Rec::perf(P8, 0x0f2e, 2, payload.concat());
    records.extend((1..=200).map(|n| sample.clone().at(t0 + 10_000 * n)));
    let file = file_of(&Trace::new(session).push_all(records).finish());
    let path = file.path().to_str().expect("UTF-8");
    let json: Value = serde_json::from_str(&run(&["cpu", path, "-q", "--format", "json"]).out).expect("JSON");
    assert_eq!(json["samples"]["events"], 200, "{json}");
    let doubts = json["doubts"].as_array().expect("doubts").iter();
    doubts.filter_map(|doubt| doubt["code"].as_str()).map(str::to_owned).collect()
}

#[test]
fn samples_of_more_time_than_there_is_are_told() {
    assert_eq!(doubts(1), Vec::<String>::new());
    assert_eq!(doubts(7), ["samples_beyond_window"]);
}
