//! Where the output goes: standard output or a file, with or without color.

use crate::cli::args::{Base, Color, OutputFormat, Printing};
use crate::cli::exit::is_closed_pipe;
use crate::cli::new_file::{self, NewFile};
use crate::cli::{notes, terminal};
use anstream::{AutoStream, ColorChoice};
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
    let mut output = open(printing)?;
    let mut out = BufWriter::new(Watched { out: &mut output, closed: closed.clone() });
    let written = write(&mut out, width(printing)).and_then(|written| {
        out.flush()?;
        Ok(written)
    });
    drop(out);
    // The JSON and CSV writers hide the system's error, so the flag says whether the pipe is closed.
    let written = written
        .map_err(|error| if closed.get() { io::Error::from(io::ErrorKind::BrokenPipe).into() } else { error })?;
    output.finish()?;
    Ok(written)
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
    match &printing.output {
        Some(output) if new_file::is_same_file(output, input) => {
            let text = format!("-o {} is {what} itself; name another file", output.display());
            Err(Error::Usage(text).into())
        }
        _ => Ok(()),
    }
}

/// An output. A file comes into its place when it is finished; without that it is as it was.
pub struct Output {
    out: Box<dyn Write>,
    file: Option<NewFile>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Output {
    /// Opens a file or standard output, and puts something around it.
    fn new<W: Write + 'static>(
        printing: &Printing,
        file: impl FnOnce(File) -> W,
        standard: impl FnOnce(io::Stdout) -> W,
    ) -> anyhow::Result<Output> {
        Ok(match &printing.output {
            Some(path) => {
                let (new, opened) = new_file::create(path)?;
                let out = Box::new(Named { out: file(opened), name: path.display().to_string() });
                Output { out, file: Some(new) }
            }
            None => {
                let out = Box::new(Named { out: standard(io::stdout()), name: STANDARD_OUTPUT.into() });
                Output { out, file: None }
            }
        })
    }

    /// Writes what is left.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.out.flush()?;
        drop(self.out); // closes the file
        self.file.map_or(Ok(()), NewFile::keep)
    }
}

/// The output stream; color codes are taken out where they do not belong.
pub fn open(printing: &Printing) -> anyhow::Result<Output> {
    let choice = match printing.color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::AlwaysAnsi,
        Color::Never => ColorChoice::Never,
    };
    let of_file = if choice == ColorChoice::Auto { ColorChoice::Never } else { choice };
    let file = |file| -> Box<dyn Write> { Box::new(AutoStream::new(file, of_file)) };
    Output::new(printing, file, |out| Box::new(AutoStream::new(out, choice)))
}

/// Columns of the output.
pub fn width(printing: &Printing) -> u16 {
    terminal::output_width(printing.output.is_some())
}

/// An output for many rows. It writes large pieces unchanged, because rows have no color codes.
pub struct Rows {
    out: Output,
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
    let out = Output::new(printing, |file| -> Box<dyn Write> { Box::new(file) }, |out| Box::new(out))?;
    Ok(Rows { out, color: choice != ColorChoice::Never })
}

/// Opens it for rows that people read.
pub fn open_rows_for_people(printing: &Printing) -> anyhow::Result<Rows> {
    let rows = open_rows(printing)?;
    Ok(match is_ascii(printing) {
        true => Rows { out: Output { out: Box::new(Ascii(rows.out.out)), ..rows.out }, ..rows },
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
    pub fn finish(self) -> anyhow::Result<()> {
        self.out.finish()
    }
}
