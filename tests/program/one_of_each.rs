//! A trace with one page for each rule, written out by hand, so that every expected row can be checked by eye.

use etl_writer::Ptr::P8;
use etl_writer::machine::recording::Phase;
use etl_writer::payloads::file::{self, View, ViewKind};
use etl_writer::payloads::image::Image;
use etl_writer::payloads::memory::{self, HeapRundown};
use etl_writer::payloads::pages::{IN_MEMORY, Identity, list};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread::Thread;
use etl_writer::payloads::{counters, header};
use etl_writer::{Rec, Session, Trace};

/// Process of most private pages.
pub const APP: u32 = 40;
/// Process id that two processes had.
pub const REUSED: u32 = 48;

pub const IMAGE_KEY: u64 = 0xffff_c001_0000_1000;
pub const TEXT_KEY: u64 = 0xffff_c001_0000_2000;
pub const HIVE_KEY: u64 = 0xffff_c001_0000_3000;
pub const MFT_KEY: u64 = 0xffff_c001_0000_4000;
pub const UNNAMED_KEY: u64 = 0xffff_c001_0000_5000;
/// A path with everything that CSV and JSON must escape.
pub const TEXT_PATH: &str = "\\Device\\HarddiskVolume3\\Users\\ü\\a, \"b\".txt";

const DRIVER: u64 = 0xffff_f801_2000_0000;
const DATABASE: u64 = 0xffff_fa80_0000_0000;
const SESSION_VIEW: u64 = 0xffff_f900_0000_0000;

fn rundown(phase: Phase) -> Vec<Rec> {
    let dc_end = phase == Phase::End;
    let region = |base, size| memory::virtual_rundown(P8, phase.region(), base, size, APP, 0, size);
    let stack = Thread { pid: APP, tid: 44, user_stack: (0x2_0000, 0x1_e000), ..Thread::default() };
    let driver = Image { base: DRIVER, size: 0x4000, name: "\\SystemRoot\\drv.sys".into(), ..Image::default() };
    let reused = if dc_end { second_life() } else { Process::new(REUSED, "gone.exe") };
    let mut recs = vec![
        Process { session: u32::MAX, ..Process::new(4, "System") }.rec(P8, 4, phase.process()),
        Process::new(APP, "app.exe").rec(P8, 4, phase.process()),
        reused.rec(P8, 4, phase.process()),
        stack.rec(P8, 3, phase.thread()),
        driver.rec(P8, 3, phase.image()),
        View::new(APP, 0x7ff6_0000_0000, 0x1_0000, IMAGE_KEY, ViewKind::Image).rec(P8, 3, phase.view()),
        View::new(4, SESSION_VIEW, 0x1_0000, IMAGE_KEY, ViewKind::Image).rec(P8, 3, phase.view()),
        region(0x1_0000, 0x1_0000),
        region(0x3_0000, 0x1_0000),
        region(0x5_0000, 0x1_0000),
    ];
    recs.push(if dc_end { region(0x6_0000, 0x1_0000) } else { region(0x7_0000, 0x1_0000) });
    if dc_end {
        recs.push(HeapRundown::new(APP, 0x3_0000, &[(0x3_0000, 0x8000)]).rec(P8, 3));
    }
    recs
}

fn second_life() -> Process {
    Process { key: 0xffff_9c08_7777_0080, ..Process::new(REUSED, "new.exe") }
}

/// The pages, PFN rising.
pub fn pages() -> Vec<Identity> {
    let private = |pfn, address| Identity::private(pfn, APP.into(), address);
    let file = |pfn, key, offset, image| Identity::file(pfn, key, offset, image);
    vec![
        private(0x100, 0x3_1000),
        private(0x101, 0x1_5000),
        private(0x102, 0x1_f000),
        private(0x103, 0x7ff6_0000_3000),
        private(0x104, 0x5_2000),
        private(0x105, 0x6_2000),
        private(0x106, 0x7_2000),
        Identity::private(0x107, 99, 0x1000),
        Identity { pinned: true, ..file(0x108, TEXT_KEY, 0x3000, false).on_list(list::STANDBY).with_priority(2) },
        Identity { cold: true, ..file(0x109, IMAGE_KEY, 0x1_0000, true) },
        Identity { u2: UNNAMED_KEY | 2, ..file(0x10a, UNNAMED_KEY, 0, false) },
        Identity { page_use: 8, ..file(0x10b, MFT_KEY, 0x7000, false) },
        Identity::new(2, 0x10c, 3, 0xffff_8a01_0000_0008 | 1),
        Identity::new(6, 0x10d, 0, DRIVER + 0x1000),
        Identity::new(6, 0x10e, 0, DATABASE + 0x2000),
        Identity::new(7, 0x10f, 0, SESSION_VIEW + 0x3000),
        Identity::new(0, 0x110, 0, 0).on_list(list::ZERO).with_priority(0),
        Identity::new(0, 0x111, 0, 0).on_list(list::BAD),
        private(0x112, 0x3_2000).on_list(list::TRANSITION),
        Identity::new(3, 0x113, APP.into(), 0xffff_f680_0000_1000),
        Identity { non_tradeable: true, ..Identity::new(5, 0x114, 0, 0xffff_e000_0000_1000) },
        Identity::new(14, 0x115, 0, 0),
        Identity::private(0x116, REUSED.into(), 0x1000),
        file(0x200, HIVE_KEY, 0x8000, false),
    ]
}

/// The trace with `sequences` page sequences, a second apart. All on one processor, a microsecond from record to record.
pub fn trace(sequences: u64) -> Vec<u8> {
    trace_with(sequences, Vec::new())
}

/// The same with more records at the end.
pub fn trace_with(sequences: u64, more: Vec<Rec>) -> Vec<u8> {
    Trace::new(session()).push_all(records(sequences, more)).finish()
}

/// The trace with another page sequence, after the file names.
pub fn trace_with_names_before() -> Vec<u8> {
    trace_with(1, pages().iter().map(|page| page.rec(P8, 4, IN_MEMORY)).collect())
}

/// Its session.
pub fn session() -> Session {
    let whole = Session::windows10();
    Session { processors: 1, end_time: whole.start_time + 51_000_000, ..whole }
}

/// Its records.
pub fn records(sequences: u64, more: Vec<Rec>) -> Vec<Rec> {
    let masks = [0x0000_8207, 0x0048_8003, 0, 0, 0, 0, 0, 0];
    let mut time = session().t0;
    let mut all = Vec::new();
    let mut log = |recs: Vec<Rec>, wait: u64| {
        for rec in recs {
            time += 10;
            all.push(rec.at(time));
        }
        time += wait;
    };
    const SECOND: u64 = 10_000_000;
    log(vec![header::group_masks(P8, header::MASKS_AFTER, masks, 80)], 0);
    log(rundown(Phase::Start), SECOND);
    log(
        vec![
            memory::virtual_alloc(P8, 0x6_0000, 0x1_0000, APP, memory::RESERVE | memory::COMMIT),
            memory::virtual_free(P8, 0x7_0000, 0, APP, memory::RELEASE),
            Process::new(REUSED, "gone.exe").rec(P8, 4, process::END),
        ],
        SECOND,
    );
    log(vec![second_life().rec(P8, 4, process::START).by(8, 4)], SECOND);
    log(vec![header::group_masks(P8, header::MASKS_BEFORE, masks, 80)], 0);
    log(rundown(Phase::End), 0);
    log(vec![counters::MemInfo { zero: 1, bad: 1, ..Default::default() }.rec(P8, 3)], 0);
    for _ in 0..sequences {
        log(pages().iter().map(|page| page.rec(P8, 4, IN_MEMORY)).collect(), SECOND);
    }
    log(vec![counters::kernel_usage(P8, 4, 0, DATABASE, 16)], 0);
    let names = [
        (IMAGE_KEY, "\\Device\\HarddiskVolume3\\Windows\\System32\\lib.dll"),
        (TEXT_KEY, TEXT_PATH),
        (HIVE_KEY, "\\Device\\HarddiskVolume3\\Windows\\System32\\config\\SOFTWARE"),
        (MFT_KEY, "\\Device\\HarddiskVolume3\\$Mft"),
    ];
    log(names.iter().map(|(key, name)| file::name(P8, file::RUNDOWN, *key, name)).collect(), 0);
    log(more, 0);
    all
}
