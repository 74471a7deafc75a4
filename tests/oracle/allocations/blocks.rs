//! Heaps and pool as lists that are searched from one end to the other.

use super::{PID, Piece};
use etl_writer::payloads::pool;
use etl_writer::payloads::process::{self, Process};
use etl_writer::{Ptr, Put, Rec, Session, Trace, guid};

/// Blocks that are live: heap, address, when, bytes.
type Blocks = Vec<(u64, u64, u64, u64)>;

pub fn heap_story(
    steps: &[(u8, u64, u64, u64, u8)],
    dies: Option<usize>,
    is_p4: bool,
) -> (Vec<u8>, u64, u64, Vec<Piece>) {
    let session = Session { processors: 1, buffer_size: 1024, ..Session::windows10() };
    let (t0, mut time) = (session.t0, session.t0 + 5);
    let p = if is_p4 { Ptr::P4 } else { Ptr::P8 };
    let class = guid("222962ab-6180-4b88-a825-346b75f2a24a");
    let rec = |kind: u8, put: &mut Put| Rec::full(p, class, kind, 2, put.done()).by(7, PID);
    let owner = Process::new(PID, "app.exe");
    let mut recs = vec![owner.rec(Ptr::P8, 3, process::START).at(time)];
    let (mut live, mut pieces): (Blocks, Vec<Piece>) = (Vec::new(), Vec::new());
    let mut is_dead = false;
    for (number, &(what, address, heap, bytes, ticks)) in steps.iter().enumerate() {
        if dies == Some(number) {
            recs.push(owner.rec(Ptr::P8, 3, process::END).at(time));
            let closed = Some((time, "process_end"));
            pieces.extend(live.drain(..).map(|(.., opened, bytes)| Piece { opened: Some(opened), closed, bytes }));
            is_dead = true;
        }
        time += u64::from(ticks);
        let heap = 0x1000 * (heap / 2 + 1);
        let (address, bytes, other) = ((address - 1) * 16, bytes * 24, (address + bytes) % 8 * 16);
        let mut close = |live: &mut Blocks, wanted: &dyn Fn(u64, u64) -> bool, reason: &'static str| {
            let (gone, left): (Blocks, Blocks) =
                live.drain(..).partition(|(heap, address, ..)| wanted(*heap, *address));
            let closed = Some((time, reason));
            pieces.extend(gone.iter().map(|&(.., opened, bytes)| Piece { opened: Some(opened), closed, bytes }));
            *live = left;
            !gone.is_empty()
        };
        let recorded = match what {
            0..=5 => rec(33, Put::new(p).ptr(heap).ptr(bytes).ptr(address).u32(3)),
            6..=9 => rec(36, Put::new(p).ptr(heap).ptr(address).u32(3)),
            10..=12 => rec(34, Put::new(p).ptr(heap).ptr(address).ptr(other).ptr(bytes).ptr(40).u32(3)),
            _ => rec(if bytes > 24 { 35 } else { 32 }, Put::new(p).ptr(heap).u32(0)),
        };
        recs.push(recorded.at(time));
        if is_dead {
            continue;
        }
        match what {
            0..=12 if address == 0 => {}
            0..=5 => {
                close(&mut live, &|h, a| (h, a) == (heap, address), "lost");
                live.push((heap, address, time, bytes));
            }
            6..=9 => _ = close(&mut live, &|h, a| (h, a) == (heap, address), "free"),
            10..=12 => {
                let is_live = live.iter().any(|(h, a, ..)| (*h, *a) == (heap, address));
                let was_live = close(&mut live, &|h, a| (h, a) == (heap, other), "realloc");
                if !(is_live && address != other) {
                    if !was_live && other != 0 {
                        pieces.push(Piece { opened: None, closed: Some((time, "realloc")), bytes: 40 });
                    }
                    live.push((heap, address, time, bytes));
                }
            }
            _ => _ = close(&mut live, &|h, _| h == heap, if bytes > 24 { "heap_destroy" } else { "lost" }),
        }
    }
    pieces.extend(live.iter().map(|&(.., opened, bytes)| Piece { opened: Some(opened), closed: None, bytes }));
    (Trace::new(session).push_all(recs).finish(), t0, time, pieces)
}

pub fn pool_story(steps: &[(bool, u64, u64, u32, u8)]) -> (Vec<u8>, u64, u64, Vec<Piece>) {
    let session = Session { processors: 1, buffer_size: 1024, ..Session::windows10() };
    let (t0, mut time) = (session.t0, session.t0 + 5);
    let p = Ptr::P8;
    let mut recs = Vec::new();
    let mut live: Vec<((u32, u64), u64, u64)> = Vec::new();
    let mut pieces: Vec<Piece> = Vec::new();
    for &(is_alloc, address, bytes, of_session, ticks) in steps {
        time += u64::from(ticks);
        let (key, bytes) = ((of_session, 0xffff_a000_0000_0000 + address * 16), bytes * 32);
        let base = if is_alloc { 0x0e20 } else { 0x0e22 };
        recs.push(
            match of_session {
                0 => pool::pool(p, base, 1, *b"Test", bytes, key.1),
                number => pool::session_pool(p, base + 1, 1, *b"Test", bytes, key.1, number),
            }
            .by(7, 400)
            .at(time),
        );
        let place = live.iter().position(|(known, ..)| *known == key);
        let reason = if is_alloc { "lost" } else { "free" };
        match place.map(|place| live.remove(place)) {
            Some((_, opened, bytes)) => {
                pieces.push(Piece { opened: Some(opened), closed: Some((time, reason)), bytes });
            }
            None if !is_alloc => pieces.push(Piece { opened: None, closed: Some((time, "free")), bytes }),
            None => {}
        }
        if is_alloc {
            live.push((key, time, bytes));
        }
    }
    pieces.extend(live.iter().map(|&(_, opened, bytes)| Piece { opened: Some(opened), closed: None, bytes }));
    (Trace::new(session).push_all(recs).finish(), t0, time, pieces)
}
