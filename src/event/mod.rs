//! Payloads: (hook id, version, pointer size, bytes) to typed events.
//!
//! [`decode`] takes a record whose header has been read and returns an [`Event`], or a fault that says what does not fit.
//! There is one file for each record family, with layout, decoder and tests; `dispatch` is the table from ids to decoders.
//! Everything borrows from the payload; nothing here allocates. Page records are on the hot path: they are read by
//! [`page::PageIdentity::read`], which needs no [`Event`].
//!
//! `etl` finds records and reads their headers; `model` joins events.
//! Sources: `docs/formats.md`, which follows the public Windows MOF classes and TraceEvent's kernel parser.

pub(crate) mod dispatch;
pub(crate) mod event_names;
pub(crate) mod fields;
pub(crate) mod fixed_text;
pub(crate) mod group_mask_bits;
pub(crate) mod hooks;
pub(crate) mod hooks_macro;
pub mod layouts;
pub mod outcome;
pub mod payload;
pub(crate) mod personal;
#[cfg(test)]
mod random_payloads;
#[cfg(test)]
mod real_payloads;
pub mod sid;
#[cfg(test)]
mod testing;
pub(crate) mod working_set_change;

pub use crate::byte_reader::{Narrow, Wide};
pub(crate) use dispatch::is_judged_by_length;
pub use dispatch::{Decoded, Event, decode};
pub use fixed_text::FixedText;
pub(crate) use layouts::{clr, disk_io, heap};
pub use layouts::{
    cswitch, file_name_and_view, header_group, heap_range, image, memory_counters, merged, page_access_ex, page_fault,
    page_identity, perfinfo, pool, pool_snapshot, process, registry_hive, section, stack, system_config, system_disk,
    system_service, thread, user_session, virtual_memory,
};
pub(crate) use outcome::Read;
pub use outcome::{Fault, Finding, Malformed, Oddity, Parsed, Surplus};
pub use payload::Payload;

/// The four cases in which the kernel logs an object that exists for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// The object begins to exist (process start, image load, view mapped, range allocated).
    Start,
    /// The object ceases to exist (process end, image unload, view unmapped, range freed).
    End,
    /// It exists when the session's keyword is turned on (start rundown).
    DcStart,
    /// It exists when the keyword is turned off (end rundown).
    DcEnd,
}

impl Phase {
    /// One of four values, in the order of the phases.
    pub const fn pick<T: Copy>(self, values: [T; 4]) -> T {
        values[self as usize]
    }
}
