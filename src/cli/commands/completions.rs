//! `pfnset completions`.

use crate::cli::commands::Cli;
use crate::cli::exit::Exit;
use clap::{Args, CommandFactory};
use std::io::Write;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pfnset completions bash > ~/.local/share/bash-completion/completions/pfnset")]
pub struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let mut script = Vec::new(); // the generator panics where it cannot write
        clap_complete::generate(self.shell, &mut Cli::command(), "pfnset", &mut script);
        let mut out = std::io::stdout();
        out.write_all(&script).and_then(|()| out.flush())?;
        Ok(Exit::Fine)
    }
}
