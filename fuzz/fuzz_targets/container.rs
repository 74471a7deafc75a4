//! A whole file: opened, indexed, walked buffer by buffer, every record read and decoded.
//!
//! Input: the bytes of the file, which go through a real one because that is what is mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::etl::extended_items::{event_name, items, provider_name};
use pfnset::etl::{EtlFile, Scratch};

#[path = "../events.rs"]
mod events;
#[path = "../scratch_file.rs"]
mod scratch_file;

fuzz_target!(|data: &[u8]| {
    if let Some(trace) = scratch_file::open(data) {
        walk(trace.etl(), data.len());
    }
});

fn walk(etl: &EtlFile, file_bytes: usize) {
    assert_eq!(etl.size_bytes(), file_bytes as u64);
    assert!(etl.buffers.iter().map(|b| u64::from(b.size_bytes)).sum::<u64>() <= etl.size_bytes());
    let mut scratch = Scratch::new();
    for index in 0..etl.buffers.len() {
        let area = etl.area(index, &mut scratch);
        assert!(area.bytes.len() <= area.buffer.area_bytes() as usize);
        let records = area.for_each_timed(etl.before_first(), |raw, time| {
            etl.clock.ticks_at(etl.clock.nanos(time));
            etl.clock.filetime(time);
            if let Ok(record) = raw.read() {
                events::read(&record);
                items(record.extended).for_each(drop);
                let _names = (event_name(record.extended), provider_name(record.extended));
            }
        });
        area.damage(&records);
    }
}
