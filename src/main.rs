//! The `pfnset` program: parse, run, turn the outcome into an exit code.

mod cli;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = cli::commands::Cli::read().command.run().unwrap_or_else(|error| {
        let exit = cli::exit::of_error(&error);
        if exit != cli::exit::Exit::Fine {
            let _ = writeln!(std::io::stderr(), "pfnset: {error:#}"); // nobody may be there to read it
        }
        exit
    });
    exit.into()
}
