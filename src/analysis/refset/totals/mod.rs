//! What is counted during the replay: by each shard of owners, and over time by all of them.

pub mod balance;
pub mod each_holding;
pub mod held_over_time;
pub mod held_statistics;
pub mod process_peaks;
pub mod shard_totals;
pub mod shared_pages;
pub mod timeline;
pub mod working_set_check;
