//! Waiting for a call: other Python threads run meanwhile, signals are handled, progress is told.

use crate::errors::raised;
use pfnset::unstable_api::embedded::{self, Failure, Watch};
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a call may take to stop. What reads the trace stops at its next buffer.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// How waiting ended.
pub enum Waited<T> {
    /// The call ended.
    Ended(PyResult<T>),
    /// A signal or the function for progress ended it, but it still runs.
    Left(PyErr),
}

/// Runs `work` on threads of its own, and waits for it. `progress` is called with the bytes that were read and with about how many
/// there are; 0 while that is not known.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<u16>,
    watch: &Arc<Watch>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Waited<T> {
    watch.stop.store(false, Ordering::Relaxed);
    watch.done.store(0, Ordering::Relaxed);
    watch.total.store(0, Ordering::Relaxed);
    let (send, receive) = channel();
    let begun = py.detach(|| embedded::spawn(threads, move || drop(send.send(work()))));
    if let Err(failure) = begun {
        return Waited::Ended(Err(raised(failure)));
    }
    let receive = Mutex::new(receive);
    loop {
        match received(py, &receive, LOOK_EVERY) {
            Some(ended) => {
                let told = progress.map_or(Ok(()), |progress| tell_end(progress, watch));
                return Waited::Ended(ended.map_err(raised).and_then(|made| told.map(|()| made)));
            }
            None => {
                let Err(error) = py.check_signals().and_then(|()| progress.map_or(Ok(()), |p| tell(p, watch))) else {
                    continue;
                };
                watch.stop.store(true, Ordering::Relaxed);
                return match received(py, &receive, STOPS_WITHIN) {
                    Some(_) => Waited::Ended(Err(error)),
                    None => Waited::Left(error),
                };
            }
        }
    }
}

/// What the call gave, if it ended in this time.
fn received<T: Send>(
    py: Python<'_>,
    receive: &Mutex<Receiver<Result<T, Failure>>>,
    time: Duration,
) -> Option<Result<T, Failure>> {
    let next = || receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time);
    match py.detach(next) {
        Ok(ended) => Some(ended),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Err(Failure::Fault("it ended without a result".into()))),
    }
}

fn tell(progress: &Bound<'_, PyAny>, watch: &Watch) -> PyResult<()> {
    let (done, total) = (watch.done.load(Ordering::Relaxed), watch.total.load(Ordering::Relaxed));
    progress.call1((if total > 0 { done.min(total) } else { done }, total)).map(drop)
}

/// The last time, all is done: what was gathered before was not read again.
fn tell_end(progress: &Bound<'_, PyAny>, watch: &Watch) -> PyResult<()> {
    let total = watch.total.load(Ordering::Relaxed);
    progress.call1((total, total)).map(drop)
}
