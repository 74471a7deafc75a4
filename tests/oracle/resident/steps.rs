//! Steps of the machine that are about what pages are: processes, regions, views, heaps, threads, files, drivers, session
//! images, pool. What is not possible now is left out.

use crate::Op;
use etl_writer::Rec;
use etl_writer::machine::{IMAGE_PAGES, Machine, PAGE, PAGES, SYSTEM, Setup};
use etl_writer::payloads::file::{self, View, ViewKind};
use etl_writer::payloads::memory::{self, COMMIT, RESERVE};
use etl_writer::payloads::pool;

/// The last pages of an address space are taken from its beginning to its end: a view, a stack, a heap.
const FIXED: usize = 6;

/// The last step.
pub const LAST_STEP: u8 = 19;
/// The step at which a snapshot is taken.
pub const SNAPSHOT: u8 = 17;

const KINDS: [ViewKind; 4] = [ViewKind::Data, ViewKind::Image, ViewKind::ImageOther, ViewKind::PageFile];

/// A machine with three processes, a kernel image, a view of a session and pool, of which nothing is recorded yet.
pub fn machine(setup: Setup, seed: u64) -> Machine {
    let mut machine = Machine::new(setup, seed);
    for op in [Op(0, 0, 0, 0), Op(0, 1, 0, 0), Op(0, 2, 0, 0), Op(15, 0, 0, 0), Op(16, 0, 0, 0), Op(19, 0, 0, 0)] {
        step(&mut machine, op);
    }
    machine
}

/// Does one thing.
pub fn step(machine: &mut Machine, Op(what, a, b, c): Op) {
    machine.losing = machine.setup.lossy && machine.tracing && c.is_multiple_of(5);
    match what {
        0 => start_process(machine, a, b, c),
        1 => {
            if let Some(life) = machine.pick_alive(a) {
                machine.end_life(life, b.is_multiple_of(2));
            }
        }
        14 => change_file(machine, usize::from(a) % machine.files.len(), b),
        15 => drop(machine.change_image(usize::from(a) % machine.images.len())),
        16 => {
            let (kind, file) = shown(machine, a);
            machine.change_session(usize::from(a) % machine.sessions.len(), kind, file);
        }
        19 => change_pool(machine, usize::from(a) % machine.pool.len(), b),
        _ => {
            if let Some(life) = machine.pick_alive(a) {
                step_in(machine, life, what, usize::from(b) % (PAGES - FIXED), c);
            }
        }
    }
    machine.losing = false;
}

/// What a view shows, by a number.
fn shown(machine: &Machine, c: u8) -> (ViewKind, usize) {
    (KINDS[usize::from(c) % 4], usize::from(c / 4) % machine.files.len())
}

fn step_in(machine: &mut Machine, life: usize, what: u8, at: usize, c: u8) {
    let pages = 1 + usize::from(c / 8) % 6;
    let _ = match what {
        2 | 3 => machine.reserve(life, at, pages, [RESERVE, RESERVE | COMMIT][usize::from(c) % 2]),
        4 => commit(machine, life, at, pages),
        5 | 6 => free_region(machine, life, at, c),
        7 | 8 => {
            let (kind, file) = shown(machine, c);
            machine.map(life, at, pages, kind, file)
        }
        9 => machine.unmap(life, at),
        10 => {
            let count = machine.lives[life].heaps.len();
            let grows = (c.is_multiple_of(4) && count > 0).then(|| usize::from(c / 4) % count);
            machine.heap(life, at, 1 + usize::from(c / 16) % 4, grows, c % 4)
        }
        11 => end_heap(machine, life, c),
        12 => start_thread(machine, life, at, c),
        13 => end_thread(machine, life, c),
        _ => {
            noise(machine, life, at, c);
            None
        }
    };
}

/// A commit inside a reservation. The kernel commits stacks itself. Of a region whose beginning no one saw, a commit tells so
/// little that its end cannot be told.
fn commit(machine: &mut Machine, life: usize, at: usize, pages: usize) -> Option<()> {
    let (from, to, region) = machine.region_at(life, at)?;
    let is_seen = machine.things[region].made || machine.things[region].listed_start;
    if is_seen && machine.stack_in(life, from, to).is_none() {
        machine.commit(life, from.max(at), to.min(at + pages));
    }
    Some(())
}

fn free_region(machine: &mut Machine, life: usize, at: usize, c: u8) -> Option<()> {
    let (from, to, _) = machine.region_at(life, at)?;
    let has_heap = machine.lives[life].cells[from..to].iter().any(|cell| cell.heap.is_some());
    if has_heap || machine.stack_in(life, from, to).is_some() {
        return None;
    }
    match c % 7 {
        0 if to - from > 2 && machine.setup.start => machine.release_inside(life, (from, to), from + 1),
        size => machine.release(life, from, to, size % 2 == 0),
    }
}

fn end_heap(machine: &mut Machine, life: usize, c: u8) -> Option<()> {
    let others = machine.lives[life].heaps.len().checked_sub(1).filter(|others| *others > 0)?;
    let heap = 1 + usize::from(c / 8) % others;
    let regions_go = (c % 5 < 3).then_some(c.is_multiple_of(2));
    machine.end_heap(life, heap, !c.is_multiple_of(3), c.is_multiple_of(2), regions_go);
    Some(())
}

/// Stacks can begin below the end of their region.
fn start_thread(machine: &mut Machine, life: usize, at: usize, c: u8) -> Option<()> {
    let pages = 2 + usize::from(c) % 4;
    machine.start_thread(life, at, pages, usize::from(pages > 3 && c.is_multiple_of(2)), RESERVE)
}

/// A thread ends, not the one that each process has; its stack may be gone when that is logged, or goes afterwards.
fn end_thread(machine: &mut Machine, life: usize, c: u8) -> Option<()> {
    let stacks = machine.stacks_of(life);
    let others = stacks.len().checked_sub(1).filter(|others| *others > 0)?;
    let (thread, stack) = stacks[1 + usize::from(c) % others];
    machine.end_thread(thread, !c.is_multiple_of(3));
    let (from, to, _) = machine.region_at(life, stack.base - 1).filter(|_| c.is_multiple_of(2))?;
    machine.release(life, from, to, c.is_multiple_of(4))
}

/// Events that change nothing of what is asked.
fn noise(machine: &mut Machine, life: usize, at: usize, c: u8) {
    let (p, pid, base) = (machine.setup.p, machine.lives[life].pid, machine.address(at));
    let rec: Rec = match c % 4 {
        0 => memory::virtual_free(p, base, PAGE, pid, memory::DECOMMIT),
        1 => memory::virtual_alloc(p, base, PAGE, pid, 0x8_0000),
        2 => memory::mem_reset(p, base, PAGE, 1),
        _ => View::new(0, base, PAGE, machine.file_key(0), ViewKind::Data).rec(p, 3, file::MAP).by(77_777, 4),
    };
    machine.log_record(rec);
}

fn start_process(machine: &mut Machine, a: u8, b: u8, c: u8) {
    let creator = Some((5000 + u32::from(b % 2) * 4, SYSTEM.1));
    let Some(life) = machine.birth(8 + 4 * u32::from(a % 4), creator, true) else { return };
    // Views that are mapped before the process has an id; each in the place of the one before.
    for n in 0..b % 4 {
        let (kind, file) = shown(machine, c.wrapping_add(n));
        let at = usize::from(c) % (PAGES - FIXED - 4);
        machine.unmap(life, at);
        machine.map(life, at, 2, kind, file);
    }
    machine.begin_life(life);
    // What every process has.
    machine.map(life, PAGES - FIXED, 1, ViewKind::Image, 0);
    start_thread(machine, life, PAGES - FIXED + 2, 0);
    machine.heap(life, PAGES - 1, 1, None, 2);
}

fn change_file(machine: &mut Machine, slot: usize, b: u8) {
    const PATHS: [&str; 8] = [
        "drv.SYS",
        "A.EXE-1.pf",
        "Windows\\System32\\config\\SOFTWARE",
        "data.bin",
        "SYSTEM",
        "lib.dll",
        "x.PF",
        "b.txt",
    ];
    if machine.delete_file(slot).is_none() {
        machine.create_file(slot, PATHS[usize::from(b % 8)]);
    }
}

/// Some pool is always there.
fn change_pool(machine: &mut Machine, slot: usize, b: u8) {
    if slot == 0 && machine.pool[0].is_some() {
        return;
    }
    let (tag, kind) = (["Ntfs", "MmSt", "Cc  ", "Fil5"][usize::from(b % 4)], 0x1000_0200 | u32::from(b % 2));
    machine.change_pool(SYSTEM, slot, IMAGE_PAGES * PAGE - 0x800, tag, kind);
    // Small allocations within a page say nothing of it.
    let small = pool::pool(machine.setup.p, pool::ALLOC, kind, *b"Smal", 0x80, machine.pool_base(slot) + 0x40);
    machine.log_record(small);
}
