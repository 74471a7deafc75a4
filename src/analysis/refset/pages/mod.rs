//! The pages of working sets, in memory that grows with the pages held, not with the events.

pub mod held_page;
pub mod page_arena;
pub mod page_map;
pub mod working_set_pages;
