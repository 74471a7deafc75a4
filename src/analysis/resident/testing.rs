//! A small machine for unit tests: a case for every rule, and every different page that it can have.

use crate::analysis::resident::checks::{Checks, Compared};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::etl::EtlFile;
use crate::event::Phase;
use crate::event::file::{FileNameKind, ViewKind};
use crate::event::page::PageIdentity;
use crate::event::process::ProcessPhase;
use crate::event::virtual_memory::VirtualRange;
use crate::load::facts::{FileEvent, ImageEvent, KernelBlock, KernelView, ProcessEvent, SpaceEvent};
use crate::load::history::History;
use crate::load::space_events::SpaceEvents;
use crate::model::hives::Hives;
use crate::model::owner_key::KeyReading;
use crate::model::process::Processes;
use crate::model::rundown::Rundowns;
use crate::model::snapshot::Snapshot;
use crate::moment::{At, Moment};
use crate::units::{Nanos, PointerSize, Ticks};
use std::path::Path;

fn at<T>(time: i64, value: T) -> At<T> {
    At { moment: Moment { time: Ticks(time), order: time as u64 }, value }
}

/// A process with one range of each kind, known to both or to one of the rule sets; files and kernel ranges.
fn history() -> History {
    let mut history = History::default();
    history.processes.push(at(
        0,
        ProcessEvent {
            phase: ProcessPhase::DcStart,
            key: 0xffff_8000_0000_1000,
            process_id: 40,
            session_id: Some(1),
            directory_table_base: None,
            image_name: (*b"a.exe").into(),
            thread_id: None,
            parent_id: 4,
            command_line: "".into(),
            exit_status: 0x103,
        },
    ));
    let region = |phase, base, size| SpaceEvent::Region { phase, base, size, flags: VirtualRange::RESERVE };
    let view = |base, kind| SpaceEvent::View { phase: Phase::DcStart, base, size: 0x1000, file_key: 0x100, kind };
    let thread =
        SpaceEvent::Thread { phase: Phase::DcStart, thread_id: 44, stack_base: 0x2_0000, stack_limit: 0x1_f000 };
    let events = [
        region(Phase::DcStart, 0x1_0000, 0x1_0000),
        thread,
        SpaceEvent::HeapRundown { heap: 0x3_0000, base: 0x3_0000, size: 0x1000 },
        region(Phase::Start, 0x3_1000, 0x2000),
        SpaceEvent::HeapReserve { heap: 0x3_0000, base: 0x3_1000, size: 0x1000 },
        view(0x4_0000, ViewKind::Image),
        view(0x4_1000, ViewKind::ImageOtherProtection),
        view(0x4_2000, ViewKind::DataFile),
        view(0x4_3000, ViewKind::PagefileBacked),
        region(Phase::DcStart, 0x5_0000, 0x1000),
        region(Phase::Start, 0x6_0000, 0x1000),
    ];
    history.spaces.insert(40, SpaceEvents::new((1..).zip(events).map(|(time, event)| at(time, event)).collect()));
    let names = [(0x100, "\\a.dll"), (0x200, "\\b.SYS"), (0x300, "\\c.pf"), (0x400, "\\x\\NTUSER.DAT")];
    history.files = (1..)
        .zip(names)
        .map(|(time, (key, name))| at(time, FileEvent { kind: FileNameKind::Rundown, key, name: name.into() }))
        .collect();
    let kernel = 0xffff_8800_0000_0000;
    let image = ImageEvent { phase: Phase::DcStart, base: kernel, size: 0x2000, file_name: "\\d.sys".into() };
    history.kernel_images.push(at(1, image));
    let session = |base, kind| {
        let (process_id, phase) = (8, Phase::DcStart);
        KernelView { process_id, phase, base, size: 0x1000, file_key: 0x100, kind }
    };
    history.kernel_views.push(at(1, session(kernel + 0x1_0000, ViewKind::Image)));
    history.kernel_views.push(at(1, session(kernel + 0x1_1000, ViewKind::PagefileBacked)));
    // The database covers the image's second page.
    history.kernel_blocks.push(at(200, KernelBlock { usage_type: 0, address: kernel + 0x1000, pages: 4 }));
    history
}

/// Looks at the machine as page records of an event version show it.
pub fn with_context(version: u8, look: impl FnOnce(&SnapshotContext<'_>, &Hives)) {
    let history = history();
    let (processes, rundowns) = (Processes::new(&history), Rundowns::new(&history));
    let hives = Hives::new(&history);
    let snapshot = Snapshot {
        first: Moment { time: Ticks(100), order: 100 },
        last_time: Ticks(101),
        pages: 1,
        pfns: (1, 1),
        duplicates: 0,
        missing_pfns: 0,
        gaps: 0,
        version,
        pointer: PointerSize::P8,
        runs: Vec::new(),
    };
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/resident-small.etl");
    let etl = EtlFile::open(Path::new(fixture)).unwrap(); // nothing is read from it
    look(
        &SnapshotContext::new(&etl, &history, &processes, &rundowns, &hives, &snapshot, KeyReading::ProcessId),
        &hives,
    );
}

/// Pages of every list and use, with keys of no, a known and an unknown process, at addresses of every kind.
pub fn pages() -> Vec<PageIdentity> {
    let user = [
        0, 0x1_0000, 0x1_f000, 0x3_0000, 0x3_1000, 0x3_2000, 0x4_0000, 0x4_1000, 0x4_2000, 0x4_3000, 0x5_0000,
        0x6_0000, 0x7_0000,
    ];
    let kernel = [0, 0x1000, 0x4000, 0x8000, 0x1_0000, 0x1_1000].map(|offset| 0xffff_8800_0000_0000 + offset);
    let files = [0x100, 0x200, 0x300, 0x400, 0x500].into_iter().flat_map(|key| (0..4).map(move |bits| key | bits));
    let u2s: Vec<u64> = user.into_iter().chain(kernel).chain(files).collect();
    let kinds = (0..8).flat_map(|list| (0..16).flat_map(move |page_use| [0, 40, 41].map(|key| (list, page_use, key))));
    kinds
        .flat_map(|(list, page_use, key): (u64, u64, u64)| {
            let flags = page_use | list << 4 | key << 9;
            u2s.iter().map(move |&u2| PageIdentity { flags, pfn: 1, u2 }).collect::<Vec<_>>()
        })
        .collect()
}

/// Checks that all pass.
pub fn checks() -> Checks {
    Checks {
        pages: 100,
        pfns: (1, 100),
        missing_pfns: 0,
        gaps: 0,
        duplicates: 0,
        ram_pages: Some(100),
        lost_buffers: 0,
        bad_list: 0,
        bad_meminfo: Some(0),
        combined: 3,
        combined_mmstats: Some(3),
        pfn_database: Some((0xffff_fa80_0000_0000, 5)),
        pfn_database_counted: 5,
        lists: vec![Compared { what: "Zero".into(), counted: 7, expected: 7, slack: 16 }],
        contradictions: 0,
        contradiction_examples: Vec::new(),
        meminfo_age: Some(Nanos(0)),
        version: 4,
        reading: KeyReading::of_version(4),
        keyed: (50, 0),
    }
}
