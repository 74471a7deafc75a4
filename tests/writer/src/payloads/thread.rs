//! Thread records (hooks 0x05xx): start, end, rundown, names; context switches and ready threads.

use super::super::bytes::{Ptr, Put};
use super::super::record::Rec;

/// Hook: thread start.
pub const START: u16 = 0x0501;
/// Hook: thread end.
pub const END: u16 = 0x0502;
/// Hook: start rundown.
pub const DC_START: u16 = 0x0503;
/// Hook: end rundown.
pub const DC_END: u16 = 0x0504;

/// A thread record, versions 2–4.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Kernel stack: high end, low end.
    pub kernel_stack: (u64, u64),
    /// User stack: high end, low end of the initial commit; zeros for kernel threads.
    pub user_stack: (u64, u64),
    /// Affinity mask (version 2: kernel start address).
    pub affinity: u64,
    /// Win32 start address.
    pub start_address: u64,
    /// TEB address, 0 for kernel threads.
    pub teb: u64,
    /// Sub-process (service) tag.
    pub service_tag: u32,
    /// Base priority, page priority, I/O priority, flags; version 3 and later.
    pub priorities: [u8; 4],
    /// Name; `None` leaves the field out (version 3 has both forms, version 2 has none, version 4 writes it always).
    pub name: Option<String>,
}

impl Default for Thread {
    fn default() -> Thread {
        Thread {
            pid: 0,
            tid: 0,
            kernel_stack: (0xffff_f80c_3a5e_7000, 0xffff_f80c_3a5e_1000),
            user_stack: (0, 0),
            affinity: 0xff,
            start_address: 0,
            teb: 0,
            service_tag: 0,
            priorities: [8, 5, 2, 0],
            name: None,
        }
    }
}

impl Thread {
    /// The record, with a SYSTEM header that carries the thread's own ids.
    pub fn rec(&self, p: Ptr, version: u16, hook: u16) -> Rec {
        let mut put = Put::new(p);
        put.u32(self.pid).u32(self.tid).ptr(self.kernel_stack.0).ptr(self.kernel_stack.1);
        put.ptr(self.user_stack.0).ptr(self.user_stack.1).ptr(self.affinity).ptr(self.start_address);
        put.ptr(self.teb).u32(self.service_tag);
        if version >= 3 {
            put.raw(&self.priorities);
        }
        match (&self.name, version) {
            (Some(name), 3..) => {
                put.wide(name);
            }
            (None, 4..) => {
                put.wide("");
            }
            _ => {}
        }
        Rec::system(p, hook, version, put.done()).by(self.tid, self.pid)
    }
}

/// Thread name (0x0548).
pub fn set_name(p: Ptr, pid: u32, tid: u32, name: &str) -> Rec {
    Rec::perf(p, 0x0548, 2, Put::new(p).u32(pid).u32(tid).wide(name).done())
}

/// Context switch (0x0524), 24 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Switch {
    /// New thread id, 0 = idle.
    pub new: u32,
    /// Old thread id.
    pub old: u32,
    /// Priority of the new and the old thread.
    pub priorities: (i8, i8),
    /// Byte 10: previous C-state when the old thread is idle, else its rank.
    pub c_state: u8,
    /// New thread's priority decrement.
    pub decrement: i8,
    /// Old thread's wait reason.
    pub wait_reason: u8,
    /// Old thread's wait mode (version 4: bit 0) and QoS levels.
    pub wait_mode: u8,
    /// Old thread's state.
    pub state: u8,
    /// Old thread's ideal processor.
    pub ideal_processor: u8,
    /// New thread's wait time, clock ticks.
    pub wait_time: u32,
    /// Old thread's remaining quantum.
    pub quantum: i32,
}

impl Switch {
    /// The record (PERFINFO).
    pub fn rec(&self, p: Ptr, version: u16) -> Rec {
        let mut put = Put::new(p);
        put.u32(self.new).u32(self.old).u8(self.priorities.0 as u8).u8(self.priorities.1 as u8);
        put.u8(self.c_state).u8(self.decrement as u8).u8(self.wait_reason).u8(self.wait_mode);
        put.u8(self.state).u8(self.ideal_processor).u32(self.wait_time).i32(self.quantum);
        Rec::perf(p, 0x0524, version, put.done())
    }
}

/// A switch of [`compact_switches`].
#[derive(Clone, Copy, Debug)]
pub struct CompactSwitch {
    /// Raw stamp.
    pub time: u64,
    /// Old thread id, 0 = idle.
    pub old: u32,
    /// Its wait reason, or the number of wait reasons + its state.
    pub number: u8,
}

/// Compact context switches (0x0525) of one processor, in packets of the smallest form; of at most 16 threads.
pub fn compact_switches(switches: &[CompactSwitch]) -> Rec {
    let mut ids: Vec<u32> = switches.iter().map(|switch| switch.old).filter(|&old| old != 0).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut put = Put::new(Ptr::P8);
    let mut before = switches.first().map_or(0, |switch| switch.time);
    put.u64(before);
    (0..16).for_each(|index| _ = put.u32(ids.get(index).copied().unwrap_or(0)));
    (0..16).for_each(|_| _ = put.u8(8));
    for switch in switches {
        let delta = switch.time - before;
        before = switch.time;
        let index = ids.iter().position(|&id| id == switch.old).unwrap_or(0) as u64;
        let number = u64::from(switch.number);
        match switch.old {
            0 if delta < 1 << 14 => put.u16((delta << 2) as u16),
            0 => put.u32((delta << 2) as u32 | 1),
            _ if delta < 1 << 17 => put.u32((delta << 15 | number << 9 | index << 2 | 2) as u32),
            _ => put.u64(number << 36 | index << 32 | delta << 2 | 3),
        };
    }
    Rec::perf(Ptr::P8, 0x0525, 2, put.done())
}

/// Ready thread (0x0532): readied thread, adjust reason (0 none, 1 unwait, 2 boost), increment, flags.
pub fn ready(p: Ptr, tid: u32, reason: i8, increment: i8, flags: u8) -> Rec {
    let payload = Put::new(p).u32(tid).u8(reason as u8).u8(increment as u8).u8(flags).u8(0).done();
    Rec::perf(p, 0x0532, 2, payload)
}

/// Priority changes (0x0530, 0x0531, 0x0533, 0x0534).
pub fn set_priority(p: Ptr, hook: u16, tid: u32, old: u8, new: u8) -> Rec {
    Rec::perf(p, hook, 3, Put::new(p).u32(tid).u8(old).u8(new).u16(0).done())
}
