//! The command line: parse, run, turn the outcome into an exit code. Exit codes are decided in [`exit`], nowhere else.

mod args;
mod atomic_file;
mod bounded_file;
mod commands;
mod duplicate_traces;
pub mod embedded;
mod exit;
mod flags_in_errors;
mod host_call;
mod many_traces;
mod messages;
mod output;
mod pool_tags;
mod progress;
mod recorded_together;
mod recordings;
mod symbols;
mod terminal;
mod threads;
mod trace;
mod trace_paths;

use crate::error::Error;
use crate::input::{lost_pages, output_cleanup};
use exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

/// The program.
pub fn main() -> ExitCode {
    program(commands::arguments()).into()
}

/// The program with these arguments, of which the first is its name. For another program that is nothing else meanwhile: it handles
/// signals, and wrong usage ends the process. Returns the exit code.
pub fn program(arguments: Vec<OsString>) -> u8 {
    lost_pages::exit_with(Exit::BadInput as u8);
    output_cleanup::remove_when_stopped();
    let exit = commands::Cli::read(arguments).command.run().unwrap_or_else(|error| {
        let exit = exit::of_error(&error);
        if exit != Exit::Fine {
            let text = flags_in_errors::with_flags(&error);
            match error.downcast_ref() {
                // The advice how to record has a line for each tool.
                Some(Error::MissingEvents(_) | Error::MissingPart(_)) => messages::write_lines(&text),
                _ => messages::write(&text),
            }
        }
        exit
    });
    match lost_pages::shrunk().first() {
        Some(path) => {
            messages::write(&format!("cannot trust {}: {}", path.display(), lost_pages::REASON));
            Exit::BadInput as u8
        }
        None => exit as u8,
    }
}
