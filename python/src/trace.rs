//! Traces, and calls of the program's commands.

use crate::batches::Batches;
use crate::errors::Failure;
use crate::waiting::{Waited, wait};
use pfnset::unstable_api::embedded::{self, ExportedTable, OpenTrace, Outcome, Watch};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a command gave: the exit code that the program would have, its output, its text, its rows, its
/// messages.
type Given<'py> = (u8, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<Batches>, Vec<String>);

/// A trace that is open. Calls on it come one at a time: who calls holds a lock.
#[pyclass(frozen, module = "pfnset._pfnset")]
pub struct Trace {
    open: Mutex<Option<Arc<OpenTrace>>>,
    watch: Arc<Watch>,
    threads: Option<u16>,
}

#[pymethods]
impl Trace {
    /// Opens the trace of these arguments of `pfnset info`.
    #[new]
    #[pyo3(signature = (arguments, threads=None, progress=None))]
    fn new(
        py: Python<'_>,
        arguments: Vec<OsString>,
        threads: Option<u16>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Trace> {
        let watch = Arc::<Watch>::default();
        let given = watch.clone();
        let open = match wait(py, threads, &watch, progress, move || embedded::open(&arguments, &given)) {
            Waited::Ended(open) => open?,
            Waited::Left(error) => return Err(error),
        };
        Ok(Trace { open: Mutex::new(Some(Arc::new(open))), watch, threads })
    }

    /// Runs a command on it.
    #[pyo3(signature = (arguments, text, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        arguments: Vec<OsString>,
        text: (u16, bool),
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Given<'py>> {
        let (trace, watch) = (self.trace()?, self.watch.clone());
        let work = move || embedded::run(&arguments, Some(trace), &watch, text);
        self.waited(wait(py, self.threads, &self.watch, progress, work)).map(|outcome| given(py, outcome))
    }

    /// A table of an export.
    #[pyo3(signature = (name, snapshot, events=None, progress=None))]
    fn table(
        &self,
        py: Python<'_>,
        name: String,
        snapshot: String,
        events: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Batches, Vec<String>)> {
        let trace = self.trace()?;
        let work = move || embedded::table(&trace, &name, &snapshot, events.as_deref());
        let table: ExportedTable = self.waited(wait(py, self.threads, &self.watch, progress, work))?;
        Ok((Batches::new(table.schema, table.batches), table.told))
    }

    /// Lets the file go.
    fn close(&self, py: Python<'_>) {
        let open = self.lock().take();
        py.detach(|| drop(open));
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.lock().is_none()
    }
}

impl Trace {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<OpenTrace>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trace(&self) -> PyResult<Arc<OpenTrace>> {
        self.lock().clone().ok_or_else(|| Failure::new_err(("closed", "the trace is closed", None::<String>)))
    }

    /// A call that did not stop in time still reads the trace: nobody else may, so it is closed here.
    fn waited<T>(&self, waited: Waited<T>) -> PyResult<T> {
        match waited {
            Waited::Ended(ended) => ended,
            Waited::Left(error) => {
                self.lock().take();
                Err(error)
            }
        }
    }
}

/// Runs a command that opens its traces itself.
#[pyfunction]
#[pyo3(signature = (arguments, text, threads=None, progress=None))]
pub fn run<'py>(
    py: Python<'py>,
    arguments: Vec<OsString>,
    text: (u16, bool),
    threads: Option<u16>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Given<'py>> {
    let watch = Arc::<Watch>::default();
    let seen = watch.clone();
    let work = move || embedded::run(&arguments, None, &seen, text);
    match wait(py, threads, &watch, progress, work) {
        Waited::Ended(ended) => ended.map(|outcome| given(py, outcome)),
        Waited::Left(error) => Err(error),
    }
}

fn given(py: Python<'_>, outcome: Outcome) -> Given<'_> {
    let rows = outcome.rows.map(|rows| Batches::new(rows.schema(), vec![rows]));
    (outcome.exit, PyBytes::new(py, &outcome.output), PyBytes::new(py, &outcome.text), rows, outcome.told)
}
