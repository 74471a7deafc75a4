//! Payloads: (hook id, version, pointer size, bytes) to typed events.
//!
//! [`decode`] takes a record whose header is read and gives an [`Event`], or says what did not fit. One record family
//! per file: layout, decoder and tests together; [`dispatch`] is the table from ids to decoders. Everything borrows
//! from the payload; nothing here allocates. The hot path for page records is [`page::PageIdentity::read`], which
//! needs no [`Event`].
//!
//! Leaves to others: where records lie and what their headers say (`etl`), and all joining of events (`model`).
//! Sources: `docs/formats.md`, which follows the public Windows MOF classes and TraceEvent's kernel parser.

pub mod catalog;
pub mod cswitch;
pub mod disk;
pub mod dispatch;
pub mod fault;
pub mod file;
pub mod header;
pub mod heap;
pub mod hooks;
pub mod image;
pub mod keywords;
pub mod memory_counters;
pub mod merged;
pub mod outcome;
pub mod page;
pub mod page_access;
pub mod payload;
pub mod perfinfo;
pub mod pool;
pub mod pool_snapshot;
pub mod process;
#[cfg(test)]
mod real_samples;
pub mod registry;
#[cfg(test)]
mod robustness;
pub mod section;
pub mod sid;
pub mod stack;
pub mod system_config;
#[cfg(test)]
mod testing;
pub mod thread;
pub mod virtual_memory;
pub mod working_set;

pub use dispatch::{Event, decode, is_judged_by_length};
pub use outcome::{Decoded, Fault, Malformed, Oddity, Parsed, Read, Surplus};
pub use payload::Payload;

/// The four moments at which the kernel describes an object that lives for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// The object comes to be (process start, image load, view mapped, range allocated).
    Start,
    /// The object goes (process end, image unload, view unmapped, range freed).
    End,
    /// It exists when the session's keyword comes on (start rundown).
    DcStart,
    /// It exists when the keyword goes off (end rundown).
    DcEnd,
}

impl Phase {
    /// One of four values, in the order of the phases.
    pub const fn pick<T: Copy>(self, values: [T; 4]) -> T {
        values[self as usize]
    }
}
