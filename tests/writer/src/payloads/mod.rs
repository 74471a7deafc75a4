//! Payload writers, one file per family. Each gives a [`Rec`](super::Rec) with the hook id, the event version and the
//! header kind that Windows is seen (or expected) to use; `with_header`, `into_class` and `versioned` change them.
//!
//! Sources: the layout tables of the ETW kernel classes (MOF of the Windows SDK, System Informer's `ntwmi.h`,
//! TraceEvent's kernel parser). Times inside payloads are raw session ticks like those of the records.

pub mod counters;
pub mod file;
pub mod header;
pub mod image;
pub mod memory;
pub mod merged;
pub mod pages;
pub mod perf;
pub mod pool;
pub mod process;
pub mod system;
pub mod thread;
