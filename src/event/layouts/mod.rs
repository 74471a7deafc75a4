//! The layouts of kernel events and of records that merging adds: a file for each record family, with its hook ids (`hooks!`), its
//! layouts, one for each version, its decoder and their tests. `event::dispatch` leads from an id to its decoder.

pub(crate) mod clr;
pub mod cswitch;
pub(crate) mod disk_io;
pub mod file_name_and_view;
pub mod header_group;
pub(crate) mod heap;
pub mod heap_range;
pub mod image;
pub mod memory_counters;
pub mod merged;
pub mod page_access_ex;
pub mod page_fault;
pub mod page_identity;
pub mod perfinfo;
pub mod pool;
pub mod pool_snapshot;
pub mod process;
pub mod registry_hive;
pub mod section;
pub mod stack;
pub mod system_config;
pub mod system_disk;
pub mod system_service;
pub mod thread;
pub mod user_session;
pub mod virtual_memory;
