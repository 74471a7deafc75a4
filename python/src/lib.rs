//! The extension module `pfnset._pfnset`: what Python code alone cannot do. `pfnset/*.py` make the module of it that people use.
//!
//! A method of a trace is a command of the program with its arguments: one meaning, one set of messages. It runs on threads of its
//! own; the calling thread waits without the interpreter's lock, looks for signals, and tells how far it is.

mod batches;
mod errors;
mod trace;
mod waiting;

use pyo3::prelude::*;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;

/// The program with these arguments, of which the first is its name. Returns the exit code, or ends the process.
#[pyfunction]
fn program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = pfnset::unstable_api::program(arguments);
        let _ = std::io::stdout().flush(); // nobody may be there to read it
        code
    })
}

/// A text without characters that steer a terminal, turn a line around or hide in it: they are written out.
#[pyfunction]
#[pyo3(signature = (text, /))]
fn visible(text: &str) -> Cow<'_, str> {
    pfnset::unstable_api::visible(text)
}

#[pymodule]
fn _pfnset(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(program, module)?)?;
    module.add_function(wrap_pyfunction!(trace::run, module)?)?;
    module.add_function(wrap_pyfunction!(visible, module)?)?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<batches::Batches>()?;
    module.add("Failure", module.py().get_type::<errors::Failure>())?;
    Ok(())
}
