//! Where the output goes: standard output or a file, with or without color.

use crate::cli::args::{Color, Common, Format};
use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use pfnset::report::{Report, Style};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Width of tables where no terminal says otherwise, columns.
const DEFAULT_WIDTH: u16 = 120;

/// Prints a report in the form that the user asked for.
pub fn print(report: &dyn Report, common: &Common) -> anyhow::Result<()> {
    let mut out = open(common)?;
    match common.format {
        Format::Table => report.table(&mut out, &style(common))?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &report.json())?;
            writeln!(out)?;
        }
        Format::Csv => report.csv(&mut out)?,
    }
    out.flush()?;
    if common.format != Format::Table && !common.quiet {
        report.warnings().iter().for_each(|warning| eprintln!("pfnset: warning: {warning}"));
    }
    Ok(())
}

/// The output stream; color codes are taken out where they do not belong.
pub fn open(common: &Common) -> anyhow::Result<Box<dyn Write>> {
    let choice = match common.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    };
    Ok(match &common.output {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            let choice = if choice == ColorChoice::Auto { ColorChoice::Never } else { choice };
            Box::new(BufWriter::new(AutoStream::new(file, choice)))
        }
        None => Box::new(BufWriter::new(AutoStream::new(io::stdout(), choice))),
    })
}

fn style(common: &Common) -> Style {
    let terminal = common.output.is_none() && io::stdout().is_terminal();
    let width = terminal_size::terminal_size().map(|(width, _)| width.0).filter(|_| terminal);
    Style { width: width.or_else(columns).unwrap_or(DEFAULT_WIDTH).max(40) }
}

/// The width that the user's environment states, for pipes into pagers.
fn columns() -> Option<u16> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}
