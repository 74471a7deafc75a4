//! Fields of any event by name: values, the schemas that say where they lie, and the reader.
//!
//! Sources: `docs/events.md`, after the Windows SDK (`tdh.h`, `TraceLoggingProvider.h`); verified on recorded traces.

mod builder;
pub mod event_info;
mod fields_that_fit;
pub mod kernel;
mod kernel_memory;
pub mod manifest;
pub mod name_room;
pub mod reader;
pub mod schema;
mod texts;
pub mod trace_logging;
pub mod value;
pub mod value_json;
pub mod value_text;
