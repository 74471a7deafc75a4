//! The command line: parse, run, turn the outcome into an exit code. Exit codes are decided in [`exit`], nowhere else.

mod args;
mod commands;
mod each;
mod exit;
mod new_file;
mod notes;
mod output;
mod progress;
mod recordings;
mod settings;
mod terminal;
mod trace;
mod trace_paths;

use crate::input::lost_pages;
use exit::Exit;
use std::process::ExitCode;

/// The program.
pub fn main() -> ExitCode {
    lost_pages::exit_with(Exit::BadInput as u8);
    let exit = commands::Cli::read().command.run().unwrap_or_else(|error| {
        let exit = exit::of_error(&error);
        if exit != Exit::Fine {
            notes::write(&settings::with_flags(format!("{error:#}")));
        }
        exit
    });
    match lost_pages::shrunk().first() {
        Some(path) => {
            notes::write(&format!("cannot trust {}: {}", path.display(), lost_pages::REASON));
            Exit::BadInput.into()
        }
        None => exit.into(),
    }
}
