//! `pfnset man`: manual pages, for those who package the program.

use crate::cli::atomic_file;
use crate::cli::exit::Exit;
use anyhow::Context;
use clap::{Args, Command};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pfnset man ~/.local/share/man/man1")]
pub struct Man {
    /// A folder, made where it is missing: gets pfnset.1 and a page for each command
    folder: PathBuf,
}

impl Man {
    /// Writes the pages of this program.
    pub fn run(&self, program: Command) -> anyhow::Result<Exit> {
        std::fs::create_dir_all(&self.folder).with_context(|| format!("cannot write {}", self.folder.display()))?;
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
        for command in std::iter::once(&program).chain(commands) {
            let page = clap_mangen::Man::new(command.clone())
                .source(concat!("pfnset ", env!("CARGO_PKG_VERSION")))
                .manual("pfnset");
            let mut text = Vec::new();
            page.render(&mut text)?;
            let path = self.folder.join(page.get_filename());
            atomic_file::write(&path, with_lines_as_they_are(&String::from_utf8(text)?).as_bytes())?;
        }
        Ok(Exit::Fine)
    }
}

/// The help below the flags has columns and examples, whose lines must not be joined.
fn with_lines_as_they_are(page: &str) -> String {
    let Some((before, rest)) = page.split_once("\n.SH EXTRA\n") else { return page.to_owned() };
    let end = rest.find("\n.SH ").unwrap_or(rest.trim_end().len());
    let (text, after) = rest.split_at(end);
    // Long lines are paragraphs: `man` breaks them, but nothing joins them.
    let is_prose = text.lines().any(|line| line.len() > 120);
    let text = if is_prose { text.replace('\n', "\n.br\n") } else { format!(".nf\n{text}\n.fi") };
    format!("{before}\n.SH NOTES\n{text}{after}")
}

#[cfg(test)]
mod tests {
    use super::with_lines_as_they_are;

    #[test]
    fn columns_stay_and_paragraphs_are_filled() {
        let page = |text: &str| format!(".TH a 1\n.SH EXTRA\n{text}\n.SH VERSION\n1\n");
        let kept = with_lines_as_they_are(&page("A:\n  b   c"));
        assert_eq!(kept, ".TH a 1\n.SH NOTES\n.nf\nA:\n  b   c\n.fi\n.SH VERSION\n1\n");
        let long = "word ".repeat(30);
        assert_eq!(
            with_lines_as_they_are(&page(&format!("A\n{long}"))),
            format!(".TH a 1\n.SH NOTES\nA\n.br\n{long}\n.SH VERSION\n1\n")
        );
        assert_eq!(with_lines_as_they_are(".SH NAME\na\n"), ".SH NAME\na\n");
        assert_eq!(with_lines_as_they_are("\n.SH EXTRA\na\n"), "\n.SH NOTES\n.nf\na\n.fi\n");
    }
}
