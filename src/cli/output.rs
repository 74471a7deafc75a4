//! Where the output goes: standard output or a file, with or without color.

use crate::cli::args::{Base, Color, Common, Format};
use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use pfnset::report::{Report, Style};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

/// Width of tables where no terminal says otherwise, columns.
const DEFAULT_WIDTH: u16 = 120;

/// Prints a report in the form that the user asked for.
pub fn print(report: &dyn Report, common: &Common) -> anyhow::Result<()> {
    let mut out = open(common)?;
    match common.format {
        Format::Table => report.table(&mut out, &Style { width: width(common) })?,
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
pub fn open(common: &Base) -> anyhow::Result<Box<dyn Write>> {
    let choice = match common.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    };
    Ok(match &common.output {
        Some(path) => {
            let file = create(path)?;
            let choice = if choice == ColorChoice::Auto { ColorChoice::Never } else { choice };
            Box::new(BufWriter::new(AutoStream::new(file, choice)))
        }
        None => Box::new(BufWriter::new(AutoStream::new(io::stdout(), choice))),
    })
}

/// Columns of the output.
pub fn width(base: &Base) -> u16 {
    let terminal = base.output.is_none() && io::stdout().is_terminal();
    let width = terminal_size::terminal_size().map(|(width, _)| width.0).filter(|_| terminal);
    width.or_else(columns).unwrap_or(DEFAULT_WIDTH).max(40)
}

/// An output for many rows, written in large pieces without a look at each byte: rows have no color codes.
pub struct Rows {
    out: Box<dyn Write>,
    color: bool,
}

/// Opens it.
pub fn open_rows(base: &Base) -> anyhow::Result<Rows> {
    let choice = match base.color {
        Color::Auto if base.output.is_some() => ColorChoice::Never,
        Color::Auto => AutoStream::choice(&io::stdout()),
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    };
    let out: Box<dyn Write> = match &base.output {
        Some(path) => Box::new(create(path)?),
        None => Box::new(io::stdout()),
    };
    Ok(Rows { out, color: choice != ColorChoice::Never })
}

impl Rows {
    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Writes text that may have color codes.
    pub fn text(&mut self, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut text = Vec::new();
        print(&mut text)?;
        if !self.color {
            text = anstream::adapter::strip_bytes(&text).into_vec();
        }
        self.write(&text)
    }

    /// Writes what is left.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn create(path: &Path) -> anyhow::Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// The width that the user's environment states, for pipes into pagers.
fn columns() -> Option<u16> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}
