//! The `pfnset` program: parse, run, turn the outcome into an exit code.

mod cli;

use cli::exit::Exit;
use pfnset::input::lost_pages;
use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lost_pages::exit_with(Exit::BadInput as u8);
    let exit = cli::commands::Cli::read().command.run().unwrap_or_else(|error| {
        let exit = cli::exit::of_error(&error);
        if exit != Exit::Fine {
            cli::notes::write(&cli::settings::with_flags(format!("{error:#}")));
        }
        exit
    });
    match lost_pages::shrunk().first() {
        Some(path) => {
            cli::notes::write(&format!("cannot trust {}: {}", path.display(), lost_pages::REASON));
            Exit::BadInput.into()
        }
        None => exit.into(),
    }
}
