//! Steps of the machine that are about working sets: processes of a few slots of eight pages, each a region, a stack, a
//! heap or a view. Steps that cannot be done now do nothing.

use crate::Op;
use etl_writer::machine::{FILE_PAGES, Machine, PAGE, Setup, State};
use etl_writer::payloads::memory::{COMMIT, RESERVE};

/// Slots of a process.
const SLOTS: usize = 5;

/// Number of steps.
pub const STEPS: u8 = 34;

/// A machine with three processes, files, a view and a region, whose recording has begun.
pub fn machine(setup: Setup, seed: u64) -> Machine {
    let mut machine = Machine::new(setup, seed);
    for pid in [100, 104, 108] {
        let life = machine.birth(pid, None, true).expect("a new id");
        machine.begin_life(life);
    }
    (0..machine.files.len()).for_each(|file| machine.create_file(file, "old.bin"));
    step(&mut machine, Op(4, 0, 0, 0));
    step(&mut machine, Op(6, 1, 1, 1));
    // What was there before the trace is told by the start rundown alone.
    machine.begin();
    machine
}

/// Does one thing.
pub fn step(machine: &mut Machine, Op(what, a, b, c): Op) {
    let (first, page) = (usize::from(b) % SLOTS * FILE_PAGES, usize::from(c) % FILE_PAGES);
    let (at, file) = (first + page, usize::from(b) % machine.files.len());
    let alive = machine.pick_alive(a);
    let working = machine.pick(a, |state| state != State::Dead);
    let _ = match what {
        0..=3 => working.and_then(|life| machine.touch(life, at)),
        4 | 5 => alive.and_then(|life| map(machine, life, first, usize::from(c))),
        6 => alive.and_then(|life| match c % 2 {
            0 => machine.start_thread(life, first, FILE_PAGES, 0, RESERVE | COMMIT),
            _ => machine.reserve(life, first, FILE_PAGES, RESERVE | COMMIT),
        }),
        7 => alive.and_then(|life| free(machine, life, first, c)),
        8 | 9 => working.and_then(|life| machine.copy(life, at)),
        10..=12 => alive.and_then(|life| machine.trim(life, at)),
        13 => alive.and_then(|life| machine.delete(life, at)),
        14 => alive.and_then(|life| machine.combine(life, at)),
        15 => alive.filter(|_| machine.alive().len() > 1).map(|life| machine.end_life(life, false)),
        16 => birth(machine, file, c),
        17 | 18 => machine.pick(a, |state| state == State::Unborn).and_then(|life| machine.begin_life(life)),
        19 => alive.and_then(|life| machine.cached_write(life, file, page)),
        20..=22 => alive.and_then(|life| machine.cache(life, usize::from(b) % 3, c)),
        23 => alive.and_then(|life| machine.in_session(life, file, c.is_multiple_of(2))),
        24 | 25 => alive.and_then(|life| machine.kernel_page(life, b, c % 4, c.is_multiple_of(8))),
        26 => alive.map(|life| {
            let by = machine.actor(life);
            machine.change_pool(by, usize::from(b) % 4, (u64::from(c) % 5 + 1) * PAGE, "Test", 1);
        }),
        27 => alive.and_then(|life| machine.range(life, usize::from(b) % 3)),
        28 => machine.delete_section(file),
        29 => machine.repurpose(file, page),
        30 => alive.and_then(|life| machine.stack_in(life, first, first + FILE_PAGES)).map(|thread| {
            machine.end_thread(thread, true);
        }),
        31 => machine.replace_file(file, "new.bin"),
        32 => alive.and_then(|life| machine.heap(life, first, FILE_PAGES, None, c % 4)),
        _ => machine.log_sets(),
    };
}

/// Maps a view, or unmaps the one that is there.
fn map(machine: &mut Machine, life: usize, first: usize, which: usize) -> Option<()> {
    let file = which % machine.files.len();
    machine.unmap(life, first).or_else(|| machine.map(life, first, FILE_PAGES, machine.files[file].kind, file))
}

/// Decommits or frees a region that is no stack and no heap.
fn free(machine: &mut Machine, life: usize, first: usize, how: u8) -> Option<()> {
    let (from, to, _) = machine.region_at(life, first)?;
    if machine.stack_in(life, from, to).is_some() || machine.lives[life].cells[from].heap.is_some() {
        return None;
    }
    if how.is_multiple_of(3) {
        machine.decommit(life, from, from + usize::from(how) % 5 + 1);
        return Some(());
    }
    machine.release(life, from, to, how % 3 == 1)
}

/// A thread begins to make a process: a view is mapped into it, its first pages are touched.
fn birth(machine: &mut Machine, file: usize, how: u8) -> Option<()> {
    let life = (0..5).find_map(|n| machine.birth(100 + 4 * n, None, !how.is_multiple_of(5)))?;
    machine.map(life, 0, FILE_PAGES, machine.files[file].kind, file);
    (0..usize::from(how) % 3).for_each(|page| {
        machine.touch(life, page);
    });
    Some(())
}

/// The end of the recording: what is being made starts, then the end rundown and the final page sequence. Its bytes.
pub fn finish(machine: &mut Machine) -> Vec<u8> {
    for life in 0..machine.lives.len() {
        if machine.lives[life].state == State::Unborn {
            machine.begin_life(life);
        }
    }
    machine.stop(|_| ());
    machine.log_sequence(machine.frames());
    machine.finish()
}
