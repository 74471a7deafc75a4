//! A piece: memory from the record that allocates it to what frees it.

use crate::named_enum::named_enum;
use crate::units::Ticks;

named_enum! {
    /// What closed a piece.
    pub enum Reason {
        /// VirtualFree, decommit.
        Decommit = "decommit",
        /// VirtualFree, release.
        Release = "release",
        /// A free.
        Free = "free",
        /// A reallocation.
        Realloc = "realloc",
        /// Its heap was destroyed.
        HeapDestroy = "heap_destroy",
        /// Its process ended.
        ProcessEnd = "process_end",
        /// Something was allocated where it still was: the record that freed it is missing.
        Lost = "lost",
    }
}

/// The label of pieces that nothing closed before the window's end.
pub const OUTSTANDING: &str = "outstanding";

/// Stamp of what was opened before the trace.
pub const BEFORE: Ticks = Ticks(i64::MIN);

/// A piece: what opened it, what closed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// When it was opened; [`BEFORE`]: before the trace.
    pub opened: Ticks,
    /// When and by what it was closed; `None`: it was not.
    pub closed: Option<(Ticks, Reason)>,
    /// Bytes.
    pub bytes: u64,
}
