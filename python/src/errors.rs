//! Why a call has no result. Python code makes the exceptions of it that people see.

use pfnset::unstable_api::embedded;
use pyo3::PyErr;

pyo3::create_exception!(
    _pfnset,
    Failure,
    pyo3::exceptions::PyException,
    "A call failed: its kind, what is wrong, advice."
);

/// The exception of a failure: its kind, what is wrong, and advice where there is some.
pub fn raised(failure: embedded::Failure) -> PyErr {
    use embedded::Failure as F;
    let (kind, text, advice) = match failure {
        F::Usage(text) => ("usage", text, None),
        F::NotATrace(text) => ("not_a_trace", text, None),
        F::MissingPart(text) => ("missing_part", text, None),
        F::MissingEvents(text, advice) => ("missing_events", text, advice),
        F::Other(text) => ("other", text, None),
        F::Stopped => ("stopped", "it was stopped".to_owned(), None),
        F::Fault(text) => ("fault", text, None),
    };
    Failure::new_err((kind, text, advice))
}
