//! The library's joins against slow, obvious oracles: each page of a resident set, each access and release of a reference
//! set, what processors and threads did, on the simulated machine of `tests/writer`, which lives through random steps; each page
//! that VirtualAlloc commits, each block of pool and heaps; the values of counters.

mod allocations;
mod counter;
mod cpu;
#[path = "../../src/random_cases.rs"]
mod random_cases;
mod refset;
mod resident;

use etl_writer::Rng;
use etl_writer::machine::Machine;
use etl_writer::payloads::pages::Identity;
use pfnset::trace::Trace;
use proptest::prelude::*;

/// A step of the machine: what, and three numbers that say where.
#[derive(Clone, Copy)]
struct Op(u8, u8, u8, u8);

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Op({}, {}, {}, {})", self.0, self.1, self.2, self.3) // on one line, in any list
    }
}

/// Up to so many steps of the first `kinds` kinds.
fn ops(most: usize, kinds: u8) -> impl Strategy<Value = Vec<Op>> {
    let op = (0..kinds, any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(what, a, b, c)| Op(what, a, b, c));
    prop::collection::vec(op, 0..most)
}

/// Category of a page of which nothing else decides.
fn category_by_use(page: &Identity) -> &'static str {
    match page.page_use {
        0 => "VirtualAlloc_PreTrace",
        1 if page.u2 & 1 == 1 => "Image",
        1 => "MapFile",
        2 => "PageFileMappedSection",
        3 => "PageTable",
        4 => "PagedPool",
        5 => "NonPagedPool",
        6 => "SystemPage",
        7 => "SessionPrivate",
        8 => "MetaFile",
        9 => "AddressingWindowExtensionsPage",
        10 => "DriverLockedSystemPage",
        11 => "KernelStack",
        12 => "WsMetaData",
        13 => "LargePage",
        14 => "Use14",
        _ => "Use15",
    }
}

/// Each kind of step does something on these machines.
fn each_step_happens(kinds: u8, new: impl Fn(u64) -> Machine, step: fn(&mut Machine, Op)) {
    let mut happened = vec![0; usize::from(kinds)];
    let state = |machine: &Machine| (machine.events.len(), machine.free_frames.len());
    for seed in 0..60 {
        let (mut machine, mut rng) = (new(seed), Rng::new(seed));
        for _ in 0..300 {
            let [what, a, b, c] = std::array::from_fn(|_| rng.below(256) as u8);
            let before = state(&machine);
            step(&mut machine, Op(what % kinds, a, b, c));
            happened[usize::from(what % kinds)] += u32::from(state(&machine) != before);
        }
    }
    assert!(happened.iter().all(|steps| *steps > 5), "{happened:?}");
}

fn with_file<R>(bytes: &[u8], read: impl FnOnce(&Trace) -> R) -> R {
    let file = etl_writer::file_of(bytes);
    read(&Trace::open(file.path()).expect("an .etl file"))
}
