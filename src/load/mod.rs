//! The bridge from files to the model: all buffers, in parallel, each record looked at once.

mod collector;
pub mod history;
pub mod kinds;
mod page_run;
mod pool_rundown;
pub mod survey;
