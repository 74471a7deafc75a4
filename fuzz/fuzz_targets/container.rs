//! A whole file: opened, indexed, walked buffer by buffer and in merged order, every record read and decoded.
//!
//! Input: the bytes of the file, which go through a real one because that is what is mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::etl::extended::{event_name, items, provider_name};
use pfnset::etl::order::Schedule;
use pfnset::etl::{EtlFile, Scratch};
use pfnset::units::Ticks;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs, process};

#[path = "../events.rs"]
mod events;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm"); // much faster than a disk
    let folder = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    folder.join(format!("pfnset-fuzz-{}.etl", process::id()))
});

fuzz_target!(|data: &[u8]| {
    fs::write(&*FILE, data).expect("a scratch file can be written");
    let opened = EtlFile::open(&FILE);
    // On Unix the map outlives the name, and so nothing is left over after a crash.
    let removed = cfg!(unix) && fs::remove_file(&*FILE).is_ok();
    if let Ok(etl) = opened {
        walk(&etl, data.len());
    }
    if !removed {
        let _ = fs::remove_file(&*FILE);
    }
});

fn walk(etl: &EtlFile, file_bytes: usize) {
    assert_eq!(etl.size_bytes(), file_bytes as u64);
    assert!(etl.buffers.iter().map(|b| u64::from(b.size_bytes)).sum::<u64>() <= etl.size_bytes());
    let mut scratch = Scratch::new();
    let mut count = 0u64;
    for index in 0..etl.buffers.len() {
        let area = etl.area(index, &mut scratch);
        assert!(area.bytes.len() <= area.buffer.area_bytes() as usize);
        let records = area.for_each_timed(etl.before_first(), |raw, time| {
            count += 1;
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
    let schedule = Schedule::new(etl);
    let mut merged = schedule.merge(etl);
    let (mut merged_count, mut latest) = (0, Ticks(i64::MIN));
    while let Some((_, time, _)) = merged.next_record() {
        assert!(latest <= time, "out of order");
        latest = time;
        merged_count += 1;
    }
    assert_eq!((merged_count, merged.late_records()), (count, 0));
}
