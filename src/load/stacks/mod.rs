//! Stacks and the events that they belong to, as they lie in the records. Two walks: the first one reads stacks, definitions of keys
//! and what lies at addresses; the second one the events that stacks name by their time stamps, and those of one kind.
//!
//! Sources: `docs/formats.md` ("StackWalk"). `analysis::stacks` joins them.

pub mod exponential_search;
pub mod first_walk;
pub mod frame_lists;
pub mod frame_trie;
pub mod image_and_method_records;
pub mod interner;
pub mod kernel_or_user;
pub mod list_hash;
pub mod match_probe;
pub mod recent_lists;
pub mod second_walk;
pub mod sorted_groups;
pub mod stack_events;
pub mod stack_records;
pub mod whole_lists;
