//! Every feature of the container, on files whose bytes come from a writer that shares no layout with the reader.

mod buffers;
mod damage;
mod headers;
mod loss;
mod manifest;
mod messages;
mod threads;
mod time;

use etl_writer::{HeaderKind, Ptr, Rec, Session};

/// Both pointer sizes with a session of each.
fn both() -> [(Ptr, Session); 2] {
    [(Ptr::P8, Session::windows10()), (Ptr::P4, Session::windows10().bits32())]
}

/// A kernel record whose payload is a number, `ticks` after the start of the trace.
fn serial(number: u64, ticks: u64) -> Rec {
    let header = if number.is_multiple_of(2) { HeaderKind::PerfInfo(Ptr::P8) } else { HeaderKind::System(Ptr::P8) };
    let payload = number.to_le_bytes().to_vec();
    Rec { hook: 0x4bcd, payload, ..Rec::new(header) }.at(Session::windows10().t0 + ticks)
}
