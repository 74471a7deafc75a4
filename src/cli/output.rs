//! Where the output goes: standard output or a file, with or without color.

use crate::answer::Answer;
use crate::cli::args::{Base, Color, OutputFormat, Printing};
use crate::cli::atomic_file::{self, NewFile};
use crate::cli::exit::{self, Exit, is_closed_pipe};
use crate::cli::host_call::{Call, Captured};
use crate::cli::{messages, terminal};
use crate::dimensions::{Condition, Dimension};
use crate::error::Error;
use crate::forms::ascii_stand_ins::Ascii;
use crate::forms::csv::Cells;
use crate::forms::{self, Form, Look};
use crate::trace::trust::warning::Warnings;
use anstream::{AutoStream, ColorChoice};
use std::cell::Cell;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::Path;
use std::rc::Rc;

const STANDARD_OUTPUT: &str = "standard output";

/// Prints an answer in the form that the user asked for.
pub fn print(answer: &Answer<'_>, format: OutputFormat, cells: Cells, printing: &Printing) -> anyhow::Result<()> {
    let form = form(format, cells, printing);
    if let Some(call) = Call::current() {
        call.take(answer)?;
    }
    let written = writing(printing, |out| Ok(forms::write(answer, form, &mut *for_people(out, format, printing))?));
    if unless_closed(written)? && format != OutputFormat::Table {
        warn(&told(&answer.warnings, printing.quiet));
    }
    Ok(())
}

/// How many lines of text an answer is, without what a terminal repeats at its end.
pub fn lines(answer: &Answer<'_>, printing: &Printing) -> io::Result<usize> {
    let mut text = Vec::new();
    forms::write(answer, Form::Text(Look { rows: None, ..look(printing) }), &mut text)?;
    Ok(text.iter().filter(|byte| **byte == b'\n').count())
}

/// What of these warnings is said on standard error: with `--quiet` only what makes numbers wrong, with which `--strict` ends with code 3.
pub fn told(warnings: &Warnings, is_quiet: bool) -> Vec<String> {
    if is_quiet { warnings.grave().texts() } else { warnings.texts() }
}

/// Says again what was said before rows that a terminal has no room for.
pub fn warn_again(warnings: &Warnings, lines: usize, printing: &Printing) {
    if look(printing).rows.is_some_and(|rows| lines >= usize::from(rows)) {
        warn(&told(warnings, printing.quiet));
    }
}

/// The exit code of an answer. Where its text went into a file, the reason of code 3 is said on standard error too: who sees the code
/// need not see the file.
pub fn strict_exit(base: &Base, is_text: bool, warnings: &Warnings) -> Exit {
    let Some(first) = warnings.grave().texts().into_iter().next().filter(|_| base.strict) else { return Exit::Fine };
    if is_text && base.printing.output.is_some() {
        messages::write(&format!("--strict: code 3, because numbers can be wrong: {first}"));
    }
    Exit::BadInput
}

/// Whether all was written. Where the reader of the output wants no more, what the command found decides the exit code all the
/// same.
pub fn unless_closed(written: anyhow::Result<()>) -> anyhow::Result<bool> {
    match written {
        Err(error) if exit::is_of_closed_pipe(&error) => Ok(false),
        written => written.map(|()| true),
    }
}

/// The form that the user asked for.
pub fn form(format: OutputFormat, cells: Cells, printing: &Printing) -> Form {
    match format {
        OutputFormat::Table => Form::Text(look(printing)),
        OutputFormat::Json => Form::Json,
        OutputFormat::Csv => Form::Csv(cells),
        OutputFormat::Jsonl => Form::JsonLines,
        OutputFormat::Markdown => Form::Markdown,
        OutputFormat::Collapsed => Form::Collapsed,
        OutputFormat::Firefox => Form::Firefox,
    }
}

/// How text looks there.
pub fn look(printing: &Printing) -> Look {
    Look { width: width(printing), color: color(printing), rows: terminal::output_rows(printing.output.is_some()) }
}

/// Opens the output for `write`, which ends with an error when the reader of the output is gone.
pub fn writing<T>(printing: &Printing, write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>) -> anyhow::Result<T> {
    written_by(printing, WhenClosed::Ends, write)
}

/// Opens the output for `write`, which goes on when the reader of the output is gone: what it finds decides the exit code.
pub fn writing_on<T>(
    printing: &Printing,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    written_by(printing, WhenClosed::GoesOn, write)
}

fn written_by<T>(
    printing: &Printing,
    when_closed: WhenClosed,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let closed = Rc::new(Cell::new(false));
    let mut output = open(printing)?;
    let mut out = BufWriter::new(Watched { out: &mut output, closed: closed.clone(), when_closed });
    let written = write(&mut out).and_then(|written| {
        out.flush()?;
        Ok(written)
    });
    drop(out);
    if closed.get() && when_closed == WhenClosed::GoesOn {
        return written; // there is nothing to finish
    }
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

/// An answer that says above everything else on a screen that no label meets the conditions: numbers below it are of nothing, not of a
/// machine that did nothing.
pub fn with_no_match<'a, D: Dimension>(answer: Answer<'a>, conditions: &[Condition<D>]) -> Answer<'a> {
    if Condition::has_no_match(conditions) { with_nothing_chosen(answer, conditions) } else { answer }
}

/// The same where it is known that these conditions together choose nothing.
pub fn with_nothing_chosen<'a, 'c, D: Dimension>(
    answer: Answer<'a>,
    conditions: impl IntoIterator<Item = &'c Condition<D>>,
) -> Answer<'a> {
    let users = conditions.into_iter().filter(|condition| condition.is_users);
    let texts: Vec<String> = users.map(Condition::text).collect();
    let line =
        format!("Nothing meets the conditions of --where ({}): what they choose is empty below", texts.join(", "));
    Answer { headline: answer.headline.into_iter().chain([line]).collect(), ..answer }
}

/// Writes warnings to standard error.
pub fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| messages::write(&format!("warning: {warning}")));
}

/// The same output for a form; text for people gets the characters that the terminal shows.
pub fn for_people<'o>(out: &'o mut dyn Write, format: OutputFormat, printing: &Printing) -> Box<dyn Write + 'o> {
    let is_text = format.is_for_people();
    match is_text && is_ascii(printing) {
        true => Box::new(Ascii(out)),
        false => Box::new(out),
    }
}

/// Whether text needs ASCII stand-ins.
fn is_ascii(printing: &Printing) -> bool {
    printing.characters.output_is_ascii(printing.output.is_some())
}

/// A stream whose errors name it.
struct Named<W> {
    out: W,
    name: String,
}

impl<W> Named<W> {
    fn with_name<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = if is_closed_pipe(&error) { io::ErrorKind::BrokenPipe } else { error.kind() };
            io::Error::new(kind, format!("cannot write {}: {error}", self.name))
        })
    }
}

impl<W: Write> Write for Named<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.with_name(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.with_name(result)
    }
}

/// What becomes of the work when the reader of the output is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhenClosed {
    /// The next write is an error.
    Ends,
    /// What is written goes nowhere.
    GoesOn,
}

/// Records that the reader of the output has closed it.
struct Watched<W> {
    out: W,
    closed: Rc<Cell<bool>>,
    when_closed: WhenClosed,
}

impl<W> Watched<W> {
    /// The result of a write, or `instead` where the output is closed and the work goes on.
    fn note<T>(&mut self, instead: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        let goes_on = self.when_closed == WhenClosed::GoesOn;
        if goes_on && self.closed.get() {
            return Ok(instead);
        }
        match write(&mut self.out) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed.set(true);
                if goes_on { Ok(instead) } else { Err(error) }
            }
            result => result,
        }
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.note(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.note((), Write::flush)
    }
}

/// Refuses to write over the trace: its content would be lost, and the file is mapped into memory while it is read.
pub fn spare_the_trace(common: &Base) -> anyhow::Result<()> {
    common.traces().try_for_each(|trace| spare(trace, common, "the trace"))
}

/// Refuses to write over the input.
pub fn spare(input: &Path, printing: &Printing, what: &str) -> anyhow::Result<()> {
    match &printing.output {
        Some(output) if atomic_file::is_same_file(output, input) => {
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
    /// Opens a file or standard output, as it is: forms alone put styles on, so that nothing has to be taken out of the data.
    fn new(printing: &Printing) -> anyhow::Result<Output> {
        let name = || STANDARD_OUTPUT.into();
        Ok(match &printing.output {
            Some(path) if atomic_file::is_trace(path) => {
                let text =
                    format!("-o {} is a trace by its name, and would be gone; name another file", path.display());
                return Err(Error::Usage(text).into());
            }
            Some(path) => {
                let (new, opened) = atomic_file::create(path)?;
                let out = Box::new(Named { out: opened, name: path.display().to_string() });
                Output { out, file: Some(new) }
            }
            None if let Some(call) = Call::current() => Output { out: Box::new(Captured(call)), file: None },
            // A console of Windows has to be told that styles come.
            None if color(printing) => {
                let out = AutoStream::always_ansi(io::stdout());
                Output { out: Box::new(Named { out, name: name() }), file: None }
            }
            None => Output { out: Box::new(Named { out: io::stdout(), name: name() }), file: None },
        })
    }

    /// Writes what is left.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.out.flush()?;
        drop(self.out); // closes the file
        self.file.map_or(Ok(()), NewFile::keep)
    }
}

/// Opens the output.
pub fn open(printing: &Printing) -> anyhow::Result<Output> {
    Output::new(printing)
}

/// Whether the output has colors.
fn color(printing: &Printing) -> bool {
    match printing.color {
        Color::Auto => printing.output.is_none() && AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        Color::Always => true,
        Color::Never => false,
    }
}

/// Columns of the output.
pub fn width(printing: &Printing) -> u16 {
    terminal::output_width(printing.output.is_some())
}

/// An output for many rows.
pub struct Rows {
    out: BufWriter<Output>,
    look: Look,
}

/// Bytes that are written at once: rows come one by one.
const WRITTEN_AT_ONCE: usize = 256 << 10;

/// Opens it for a file, or for rows that programs read.
pub fn open_rows(printing: &Printing) -> anyhow::Result<Rows> {
    Ok(Rows::new(open(printing)?, printing))
}

/// Opens it for rows that people read.
pub fn open_rows_for_people(printing: &Printing) -> anyhow::Result<Rows> {
    let output = open(printing)?;
    let output = match is_ascii(printing) {
        true => Output { out: Box::new(Ascii(output.out)), ..output },
        false => output,
    };
    Ok(Rows::new(output, printing))
}

impl Rows {
    fn new(output: Output, printing: &Printing) -> Rows {
        Rows { out: BufWriter::with_capacity(WRITTEN_AT_ONCE, output), look: look(printing) }
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    /// Writes text in its look.
    pub fn text(&mut self, print: impl FnOnce(&mut dyn Write, Look) -> io::Result<()>) -> io::Result<()> {
        print(&mut self.out, self.look)
    }

    /// Writes what is left.
    pub fn finish(self) -> anyhow::Result<()> {
        self.out.into_inner().map_err(IntoInnerError::into_error)?.finish()
    }
}
