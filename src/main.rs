//! The `pfnset` program: parse, run, turn the outcome into an exit code.

mod cli;

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let exit = cli::commands::Cli::read().command.run().unwrap_or_else(|error| {
        let exit = cli::exit::of_error(&error);
        if exit != cli::exit::Exit::Fine {
            cli::notes::write(&format!("{error:#}"));
        }
        exit
    });
    exit.into()
}
