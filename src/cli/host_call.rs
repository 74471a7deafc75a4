//! The call of another program that a thread works on: what the program reads and writes itself, commands have from it there.
//!
//! What commands use asks [`Call::current`] where their surroundings matter: the trace, threads, output, messages, progress.

use crate::analysis::info::recording_files::RecordingFile;
use crate::answer::Answer;
use crate::escape::visible;
use crate::forms::{self, Form, Look, arrow};
use crate::trace::Trace;
use arrow_array::RecordBatch;
use std::cell::RefCell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

/// What the caller sees of a call while it runs, from another thread.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set it to stop the call, which then fails.
    pub stop: Arc<AtomicBool>,
    /// Bytes that were read so far.
    pub done: AtomicU64,
    /// About how many will be read; 0 while that is not known.
    pub total: AtomicU64,
}

/// A trace that was opened for many calls, one at a time.
#[derive(Debug)]
pub struct OpenTrace {
    trace: Trace,
    files: Vec<RecordingFile>,
    watch: Arc<Watch>,
}

/// A call, for the commands.
pub struct Call {
    pub trace: Option<Arc<OpenTrace>>,
    pub watch: Arc<Watch>,
    /// Columns of text; `None` where nobody sees any.
    pub width: Option<u16>,
    has_text: bool,
    output: RefCell<Vec<u8>>,
    text: RefCell<Vec<u8>>,
    rows: RefCell<Option<RecordBatch>>,
    told: RefCell<Vec<String>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Call>>> = const { RefCell::new(None) };
}

/// Puts the call back that was there before: a thread that waits for others may take up another call meanwhile.
struct Before(Option<Rc<Call>>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Call {
    /// A call on this trace, if it is open already; where it has text, how wide it is, and whether it is wanted beside the output.
    pub fn new(trace: Option<Arc<OpenTrace>>, watch: &Arc<Watch>, text: Option<(u16, bool)>) -> Rc<Call> {
        let (width, has_text) = (text.map(|(width, _)| width), text.is_some_and(|(_, is_wanted)| is_wanted));
        let (output, text, rows, told) = Default::default();
        Rc::new(Call { trace, watch: watch.clone(), width, has_text, output, text, rows, told })
    }

    /// The call that this thread works on; none in the program.
    pub fn current() -> Option<Rc<Call>> {
        CURRENT.with_borrow(Option::clone)
    }

    /// Runs work as this call. It unwinds where it is stopped.
    pub fn run<T>(self: &Rc<Call>, work: impl FnOnce() -> T) -> thread::Result<T> {
        let before = Before(CURRENT.replace(Some(self.clone())));
        let made = catch_unwind(AssertUnwindSafe(work));
        drop(before);
        made
    }

    /// What it left: output, text, rows, messages.
    pub fn taken(&self) -> (Vec<u8>, Vec<u8>, Option<RecordBatch>, Vec<String>) {
        (self.output.take(), self.text.take(), self.rows.take(), self.told.take())
    }

    /// Takes a message.
    pub fn tell(&self, text: &str) {
        self.told.borrow_mut().push(visible(text.strip_prefix("warning: ").unwrap_or(text)).into_owned());
    }

    /// Takes the rows of an answer, and its text if the caller wants it.
    pub fn take(&self, answer: &Answer<'_>) -> io::Result<()> {
        *self.rows.borrow_mut() = Some(arrow::rows(&answer.tables).map_err(io::Error::other)?);
        let look = Look { width: self.width.unwrap_or(u16::MAX), color: false, rows: None };
        if self.has_text { forms::write(answer, Form::Text(look), &mut *self.text.borrow_mut()) } else { Ok(()) }
    }
}

/// The output of a call.
pub struct Captured(pub Rc<Call>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.output.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OpenTrace {
    /// A trace, its files, and what calls on it are watched by.
    pub fn new(trace: Trace, files: Vec<RecordingFile>, watch: &Arc<Watch>) -> OpenTrace {
        OpenTrace { trace, files, watch: watch.clone() }
    }

    /// The trace.
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Its files.
    pub fn files(&self) -> &[RecordingFile] {
        &self.files
    }

    /// What calls on it are watched by.
    pub const fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }
}
