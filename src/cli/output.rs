//! Where the output goes: standard output or a file, with or without color.

use crate::cli::args::{Base, Color, OutputFormat, Printing};
use crate::cli::exit::is_closed_pipe;
use crate::cli::{notes, terminal};
use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use pfnset::error::Error;
use pfnset::report::ascii::Ascii;
use pfnset::report::fit::Fitted;
use pfnset::report::{Report, Style};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::rc::Rc;

const STANDARD_OUTPUT: &str = "standard output";

/// Prints a report in the form that the user asked for.
pub fn print(report: &dyn Report, format: OutputFormat, printing: &Printing) -> anyhow::Result<()> {
    writing(printing, |out, width| write(report, format, width, &mut *for_people(out, format, printing)))?;
    if format != OutputFormat::Table && !printing.quiet {
        warn(report.warnings());
    }
    Ok(())
}

/// Opens the output for `write`, which also gets its width.
pub fn writing<T>(
    printing: &Printing,
    write: impl FnOnce(&mut dyn Write, u16) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let closed = Rc::new(Cell::new(false));
    let mut out = BufWriter::new(Watched { out: open(printing)?, closed: closed.clone() });
    let written = write(&mut out, width(printing)).and_then(|written| {
        out.flush()?;
        Ok(written)
    });
    // The JSON and CSV writers hide the system's error, so the flag says whether the pipe is closed.
    written.map_err(|error| if closed.get() { io::Error::from(io::ErrorKind::BrokenPipe).into() } else { error })
}

/// Tells of conditions' patterns that matched nothing, in any form.
pub fn tell_unmatched(quiet: bool, lines: &[String]) {
    if !quiet {
        warn(lines);
    }
}

/// Writes warnings to standard error.
pub fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| notes::write(&format!("warning: {warning}")));
}

/// The same output for a form; text for people gets the characters that the terminal shows.
pub fn for_people<'o>(out: &'o mut dyn Write, format: OutputFormat, printing: &Printing) -> Box<dyn Write + 'o> {
    let is_text = matches!(format, OutputFormat::Table | OutputFormat::Markdown);
    match is_text && is_ascii(printing) {
        true => Box::new(Ascii(out)),
        false => Box::new(out),
    }
}

/// Whether text needs ASCII stand-ins.
fn is_ascii(printing: &Printing) -> bool {
    printing.characters.output_is_ascii(printing.output.is_some())
}

fn write(report: &dyn Report, format: OutputFormat, width: u16, out: &mut dyn Write) -> anyhow::Result<()> {
    match format {
        OutputFormat::Table => {
            let mut out = Fitted::new(&mut *out, width);
            report.table(&mut out, &Style { width })?;
            out.flush()?;
        }
        OutputFormat::Json => {
            report.write_json(out)?;
            writeln!(out)?;
        }
        OutputFormat::Csv => report.csv(out)?,
        OutputFormat::Jsonl => report.json_lines(out)?,
        OutputFormat::Markdown => report.markdown(out)?,
    }
    Ok(out.flush()?)
}

/// A stream whose errors name it.
struct Named<W> {
    out: W,
    name: String,
}

impl<W> Named<W> {
    fn told<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = if is_closed_pipe(&error) { io::ErrorKind::BrokenPipe } else { error.kind() };
            io::Error::new(kind, format!("cannot write {}: {error}", self.name))
        })
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.told(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.told(result)
    }
}

/// Records that the reader of the output has closed it.
struct Watched<W> {
    out: W,
    closed: Rc<Cell<bool>>,
}

impl<W> Watched<W> {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            self.closed.set(true);
        }
        result
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.note(result)
    }
}

/// Refuses to write over the trace: its content would be lost, and the file is mapped into memory while it is read.
pub fn spare_the_trace(common: &Base) -> anyhow::Result<()> {
    common.traces().try_for_each(|trace| spare(trace, common, "the trace"))
}

/// Refuses to write over the input.
pub fn spare(input: &Path, printing: &Printing, what: &str) -> anyhow::Result<()> {
    let Some(output) = &printing.output else { return Ok(()) };
    match (output.canonicalize(), input.canonicalize()) {
        (Ok(output), Ok(same)) if output == same => {
            let text = format!("-o {} is {what} itself; name another file", input.display());
            Err(Error::Usage(text).into())
        }
        _ => Ok(()),
    }
}

/// The output stream; color codes are taken out where they do not belong.
pub fn open(printing: &Printing) -> anyhow::Result<Box<dyn Write>> {
    let choice = match printing.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    };
    Ok(match &printing.output {
        Some(path) => {
            let file = create(path)?;
            let choice = if choice == ColorChoice::Auto { ColorChoice::Never } else { choice };
            Box::new(Named { out: AutoStream::new(file, choice), name: path.display().to_string() })
        }
        None => Box::new(Named { out: AutoStream::new(io::stdout(), choice), name: STANDARD_OUTPUT.into() }),
    })
}

/// Columns of the output.
pub fn width(printing: &Printing) -> u16 {
    terminal::output_width(printing.output.is_some())
}

/// An output for many rows. It writes large pieces unchanged, because rows have no color codes.
pub struct Rows {
    out: Box<dyn Write>,
    color: bool,
}

/// Opens it for a file, or for rows that programs read.
pub fn open_rows(printing: &Printing) -> anyhow::Result<Rows> {
    let choice = match printing.color {
        Color::Auto if printing.output.is_some() => ColorChoice::Never,
        Color::Auto => AutoStream::choice(&io::stdout()),
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    };
    let out: Box<dyn Write> = match &printing.output {
        Some(path) => Box::new(Named { out: create(path)?, name: path.display().to_string() }),
        None => Box::new(Named { out: io::stdout(), name: STANDARD_OUTPUT.into() }),
    };
    Ok(Rows { out, color: choice != ColorChoice::Never })
}

/// Opens it for rows that people read.
pub fn open_rows_for_people(printing: &Printing) -> anyhow::Result<Rows> {
    let rows = open_rows(printing)?;
    Ok(match is_ascii(printing) {
        true => Rows { out: Box::new(Ascii(rows.out)), ..rows },
        false => rows,
    })
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
