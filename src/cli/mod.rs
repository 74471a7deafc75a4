//! The command line: flags in, options out, results printed. Exit codes are decided in [`exit`], nowhere else.

pub mod args;
pub mod commands;
pub mod each;
pub mod exit;
pub mod new_file;
pub mod notes;
pub mod output;
pub mod progress;
pub mod recordings;
pub mod settings;
pub mod terminal;
pub mod trace;
pub mod trace_paths;
