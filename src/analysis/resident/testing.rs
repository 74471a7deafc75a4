//! The simulated machine of `tests/writer` for unit tests: a case for every rule, and every page that can be told apart on it.

use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::event::page_identity::PageIdentity;
use crate::trace::Trace;
use etl_writer::machine::{Keys, Machine, PAGE, Setup};
use etl_writer::payloads::counters;
use etl_writer::payloads::file::ViewKind;
use etl_writer::payloads::memory::RESERVE;
use etl_writer::payloads::pages::Identity;

/// A process with one range of each kind, known to both or to one of the rule sets; files and kernel ranges. Page records of
/// version 4 carry process ids, older ones process keys.
fn machine(version: u8) -> Machine {
    let keys = if version >= 4 { Keys::Pid } else { Keys::Address };
    let mut machine = Machine::new(Setup { keys, ..Setup::default() }, 1);
    let life = machine.birth(40, None, true).expect("the first process");
    machine.begin_life(life);
    let paths = ["a.dll", "b.SYS", "c.pf", "x\\NTUSER.DAT"];
    paths.iter().enumerate().for_each(|(file, path)| machine.create_file(file, path));
    machine.start_thread(life, 0, 16, 0, RESERVE);
    machine.heap(life, 16, 1, None, 0);
    for (at, kind) in (20..).zip([ViewKind::Image, ViewKind::ImageOther, ViewKind::Data, ViewKind::PageFile]) {
        machine.map(life, at, 1, kind, 0);
    }
    machine.reserve(life, 30, 1, RESERVE);
    machine.change_image(0);
    machine.change_session(0, ViewKind::Image, 0);
    machine.change_session(1, ViewKind::PageFile, 0);
    machine.begin();
    machine.heap(life, 17, 1, Some(0), 0);
    machine.reserve(life, 18, 1, RESERVE);
    machine.reserve(life, 32, 1, RESERVE);
    machine.log_sequence([Identity::private(1, machine.lives[life].key(&machine.setup), machine.address(0))]);
    // The database covers the image's second page.
    let database = machine.image_base(0) + PAGE;
    machine.log_record(counters::kernel_usage(machine.setup.p, machine.setup.version(), 0, database, 4));
    machine
}

/// Looks at the machine as page records of an event version show it.
pub fn with_context(version: u8, look: impl FnOnce(&SnapshotContext<'_>)) {
    let file = etl_writer::file_of(&machine(version).finish());
    let trace = Trace::open(file.path()).unwrap();
    look(&SnapshotContext::new(&trace, &trace.snapshots()[0]));
}

/// Pages of every list and use, with keys of no, a known and an unknown process, at addresses of every kind.
pub fn pages(version: u8) -> Vec<PageIdentity> {
    let machine = machine(version);
    let key = machine.lives[0].key(&machine.setup);
    let user = [0, 15, 16, 17, 18, 20, 21, 22, 23, 30, 32, 40].map(|page| machine.address(page));
    let image = machine.image_base(0);
    let kernel = [image, image + PAGE, image + 4 * PAGE, image + 8 * PAGE];
    let sessions = [machine.session_base(0), machine.session_base(1)];
    let files = (0..5).flat_map(|file| (0..4).map(move |bits| (file, bits)));
    let files = files.map(|(file, bits)| machine.file_key(file) | bits);
    let u2s: Vec<u64> = [0].into_iter().chain(user).chain(kernel).chain(sessions).chain(files).collect();
    let kinds =
        (0..8).flat_map(|list| (0..16).flat_map(move |page_use| [0, key, key + 1].map(|key| (list, page_use, key))));
    kinds
        .flat_map(|(list, page_use, key): (u64, u64, u64)| {
            let flags = page_use | list << 4 | key << 9;
            u2s.iter().map(move |&u2| PageIdentity { flags, pfn: 1, u2 }).collect::<Vec<_>>()
        })
        .collect()
}
