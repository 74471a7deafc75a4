//! PerfInfo and StackWalk records (hooks 0x0fxx, 0x18xx): marks, samples, interrupts, stacks.

use super::super::bytes::{Ptr, Put, guid};
use super::super::record::Rec;

/// Class PerfInfo, for marks as FULL records.
pub fn perf_info() -> [u8; 16] {
    guid("ce1dbfb4-137e-4da6-87b0-3f59aa102cbc")
}

/// Mark (0x0f22) as a SYSTEM record with a hook id.
pub fn mark(p: Ptr, text: &str) -> Rec {
    Rec::system(p, 0x0f22, 2, Put::new(p).narrow(text).done())
}

/// Mark as WPR writes it: a FULL record of class PerfInfo, version 0, with 2 bytes of padding behind the text.
pub fn mark_record(p: Ptr, text: &str) -> Rec {
    Rec::full(p, perf_info(), 34, 0, Put::new(p).narrow(text).u16(0).done())
}

/// SampledProfile (0x0f2e).
pub fn sample(p: Ptr, ip: u64, tid: u32, flags: u8) -> Rec {
    Rec::perf(p, 0x0f2e, 2, Put::new(p).ptr(ip).u32(tid).u16(1).u8(flags).u8(0).done())
}

/// Profile interval (0x0f48 set, 0x0f49 start rundown, 0x0f4a end rundown); version 3 of the rundowns has a name.
pub fn interval(p: Ptr, version: u16, hook: u16, source: u32, new: u32, old: u32) -> Rec {
    let mut put = Put::new(p);
    put.u32(source).u32(new).u32(old);
    if version >= 3 && hook != 0x0f48 {
        put.wide("Timer");
    }
    Rec::system(p, hook, version, put.done())
}

/// ISR (0x0f43, passive 0x0f5f): start time (raw), routine, return value, vector.
pub fn isr(p: Ptr, hook: u16, started: u64, routine: u64, returned: u8, vector: u16) -> Rec {
    Rec::perf(p, hook, 2, Put::new(p).u64(started).ptr(routine).u8(returned).u16(vector).u8(0).done())
}

/// Message-signalled ISR (0x0f32).
pub fn isr_msi(p: Ptr, started: u64, routine: u64, returned: u8, vector: u16, message: u32) -> Rec {
    let payload = Put::new(p).u64(started).ptr(routine).u8(returned).u16(vector).u8(0).u32(message).done();
    Rec::perf(p, 0x0f32, 2, payload)
}

/// DPC (0x0f42 threaded, 0x0f44, 0x0f45 timer).
pub fn dpc(p: Ptr, hook: u16, started: u64, routine: u64) -> Rec {
    Rec::perf(p, hook, 2, Put::new(p).u64(started).ptr(routine).done())
}

/// Stack (0x1820) of the event with this time stamp and thread.
pub fn stack(p: Ptr, event_time: u64, pid: u32, tid: u32, frames: &[u64]) -> Rec {
    let mut put = Put::new(p);
    put.u64(event_time).u32(pid).u32(tid);
    frames.iter().for_each(|frame| {
        put.ptr(*frame);
    });
    Rec::perf(p, 0x1820, 2, put.done())
}

/// Stack by key (0x1825 kernel part, 0x1826 user part).
pub fn stack_key(p: Ptr, hook: u16, event_time: u64, pid: u32, tid: u32, key: u64) -> Rec {
    Rec::perf(p, hook, 2, Put::new(p).u64(event_time).u32(pid).u32(tid).ptr(key).done())
}

/// Definition of a stack key (0x1822 create, 0x1823 delete, 0x1824 rundown).
pub fn stack_definition(p: Ptr, hook: u16, key: u64, frames: &[u64]) -> Rec {
    let mut put = Put::new(p);
    put.ptr(key);
    frames.iter().for_each(|frame| {
        put.ptr(*frame);
    });
    Rec::perf(p, hook, 2, put.done())
}
