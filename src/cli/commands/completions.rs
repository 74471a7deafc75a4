//! `pfnset completions`.

use crate::cli::exit::Exit;
use clap::{Args, Command};
use std::io::Write;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pfnset completions bash > ~/.local/share/bash-completion/completions/pfnset")]
pub struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints the script for this program.
    pub fn run(&self, mut program: Command) -> anyhow::Result<Exit> {
        let mut script = Vec::new(); // the generator panics where it cannot write
        clap_complete::generate(self.shell, &mut program, "pfnset", &mut script);
        let mut out = std::io::stdout();
        out.write_all(&script).and_then(|()| out.flush())?;
        Ok(Exit::Fine)
    }
}
