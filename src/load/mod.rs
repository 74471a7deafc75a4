//! The bridge from files to the model: all buffers, in parallel, each record looked at once.

mod collector;
pub mod history;
pub mod kinds;
pub mod survey;
