//! `pfnset words`: the glossary of docs/words.md.

use crate::cli::args::{OutputFormat, Printing};
use crate::cli::exit::Exit;
use crate::cli::output;
use crate::forms::column_widths::Fitted;
use clap::Args;
use std::io::Write;

#[derive(Debug, Args)]
#[command(after_help = glossary())]
pub struct Words {
    #[command(flatten)]
    pub printing: Printing,
}

/// The rows of the table in the page, one on each line: `word: meaning`.
fn glossary() -> String {
    let rows = include_str!("../../../docs/words.md").lines().filter_map(|line| {
        let (word, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
        (word != "word").then(|| format!("{word}: {}", meaning.replace('`', "")))
    });
    rows.collect::<Vec<_>>().join("\n")
}

impl Words {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        output::writing(&self.printing, |out| {
            let mut out = output::for_people(out, OutputFormat::Table, &self.printing);
            let mut fitted = Fitted::new(&mut out, output::width(&self.printing));
            writeln!(fitted, "{}", glossary())?;
            Ok(fitted.flush()?)
        })?;
        Ok(Exit::Fine)
    }
}

#[cfg(test)]
mod tests {
    use super::glossary;

    #[test]
    fn words_of_tables_are_explained() {
        let text = glossary();
        for word in
            ["residue", "owner key", "only tracked", "SLIST/Temp", "ActiveRundown", "Use14", "snapshot", "Standby"]
        {
            let is_told =
                |line: &str| line.split_once(": ").is_some_and(|(told, meaning)| told == word && meaning.len() > 10);
            assert!(text.lines().any(is_told), "{word}");
        }
        assert!(text.lines().count() > 30 && !text.contains(['|', '`']), "{text}");
    }
}
