//! An independent writer of `.etl` traces for tests and benches.
//!
//! It shares no layout with the library: every byte is put by explicit offset or order from the format documents, so
//! a mistake in the reader cannot hide in the writer.
//!
//! ```
//! use etl_writer::payloads::{memory, pages::Identity, process};
//! use etl_writer::{Ptr::P8, Rec, Session, Trace};
//!
//! let bytes: Vec<u8> = Trace::new(Session { processors: 2, ..Session::windows10() })
//!     .push(process::Process::new(4, "System").rec(P8, 4, process::DC_START).at(1_000_000_100))
//!     .push(memory::virtual_alloc(P8, 0x1_0000, 0x2000, 4, 0x1000).by(8, 4).on(1).at(1_000_000_200))
//!     .push(Identity::private(0x100, 4, 0x1_0000).rec(P8, 4, 0x0223).on(1).at(1_000_000_300))
//!     .finish();
//! ```
//!
//! * [`Session`]: what the log-file header says, and how buffers are written; struct update syntax sets single fields.
//! * [`Rec`]: one record of any header kind; `at` time, `on` processor, `by` thread and process, `with_header` another kind.
//! * [`Trace`]: a file in memory with knobs for damage; [`Stream`]: the same to a file, in constant memory.
//! * [`machine`]: one simulated machine, small and random, of which oracles know everything.
//! * [`generate_resident`]: a large machine's resident-set trace with the truth about its pages, for tests and benches.
//! * [`generate_refset`]: a reference-set scenario of any length, likewise.
//! * [`wpa`]: tables as Windows Performance Analyzer exports them.
//! * [`generate_memory`]: samples of memory counters and working sets, likewise.
//! * [`sampling`]: samples with stacks, of any number.
//! * [`scheduling`]: context switches, ready threads and interrupts of any number.
//! * [`hostile`]: damaged traces, and traces made to hurt.
//! * [`payloads`]: the events, as functions and structs that give a [`Rec`] with the header kind Windows uses.

pub mod allocations;
pub mod buffer;
pub mod bytes;
pub mod compress;
pub mod encode;
pub mod hostile;
pub mod logger;
pub mod machine;
pub mod memory;
pub mod payloads;
pub mod record;
pub mod refset;
pub mod resident;
pub mod rng;
pub mod sampling;
pub mod scheduling;
pub mod session;
pub mod stream;
pub mod trace;
pub mod wpa;

pub use buffer::{Buffer, Storage};
pub use bytes::{Ptr, Put, guid};
pub use memory::{MemorySpec, MemoryTruth, generate_memory};
pub use record::{HeaderKind, Item, Rec, tracelogging_schema};
pub use refset::{RefsetSpec, RefsetTruth, generate_refset};
pub use resident::{ResidentSpec, ResidentTruth, generate_resident};
pub use rng::Rng;
pub use session::{Compression, Session};
pub use stream::Stream;
pub use trace::{Placed, Trace};

/// The bytes of a trace in a temporary file.
pub fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".etl").expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("room for a temporary file");
    file
}
