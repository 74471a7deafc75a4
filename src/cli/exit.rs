//! Exit codes, in one place. Documented in README.md and `pfnset --help`.

use crate::error::Error;
use std::io;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: fine.
    Fine = 0,
    /// 1: a check or diff found a difference.
    Difference = 1,
    /// 2: wrong usage (also what clap uses), or the output cannot be written.
    Usage = 2,
    /// 3: the input cannot be read or is no `.etl`, or what the command needs was lost or cut off; with `--strict` any
    /// lost or damaged data.
    BadInput = 3,
    /// 4: the events that the command needs are not in the trace.
    MissingEvents = 4,
}

impl Exit {
    /// The code of several traces: one that cannot be read weighs most, then one without the events, then wrong usage.
    pub fn of_both(self, other: Exit) -> Exit {
        let weight = |exit: Exit| match exit {
            Exit::Fine => 0,
            Exit::Difference => 1,
            Exit::Usage => 2,
            Exit::MissingEvents => 3,
            Exit::BadInput => 4,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

/// Whether an error says that the reader of the output is gone. Wine, and Windows for pipes with names, have a code for it
/// that the standard library does not count as that: ERROR_PIPE_NOT_CONNECTED.
pub fn is_closed_pipe(error: &io::Error) -> bool {
    const PIPE_NOT_CONNECTED: i32 = 233;
    error.kind() == io::ErrorKind::BrokenPipe || cfg!(windows) && error.raw_os_error() == Some(PIPE_NOT_CONNECTED)
}

/// Whether the cause of an error is that the reader of the output is gone.
pub fn is_of_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| e.downcast_ref::<io::Error>().is_some_and(is_closed_pipe))
}

/// The code for an error. A closed pipe (`pfnset … | head`) is no error: the reader wants no more.
pub fn of_error(error: &anyhow::Error) -> Exit {
    if is_of_closed_pipe(error) {
        return Exit::Fine;
    }
    match error.downcast_ref::<Error>() {
        Some(
            Error::Unreadable { .. }
            | Error::NotEtl { .. }
            | Error::NotUnpacked { .. }
            | Error::NotSamples { .. }
            | Error::NotOneRecording { .. }
            | Error::MissingPart(_),
        ) => Exit::BadInput,
        Some(Error::MissingEvents(_)) => Exit::MissingEvents,
        Some(Error::NotUnderstood { .. }) => Exit::BadInput,
        Some(Error::Usage(_) | Error::NotBudgets { .. } | Error::NotWritten { .. }) | None => Exit::Usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_fine_wherever_it_hides() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("cannot write");
        assert_eq!(of_error(&error), Exit::Fine);
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::StorageFull)).context("cannot write");
        assert_eq!(of_error(&error), Exit::Usage);
    }

    #[test]
    fn a_trace_that_cannot_be_read_weighs_most() {
        let all = [Exit::Fine, Exit::Difference, Exit::BadInput, Exit::MissingEvents, Exit::Usage];
        assert_eq!(all.into_iter().fold(Exit::Fine, Exit::of_both), Exit::BadInput);
        assert_eq!(Exit::Usage.of_both(Exit::MissingEvents), Exit::MissingEvents);
        assert_eq!(Exit::Difference.of_both(Exit::Fine), Exit::Difference);
    }

    #[test]
    fn library_errors_have_their_codes() {
        let wrong = Error::NotBudgets { path: "x".into(), line: 1, column: 1, reason: "y".into() };
        assert_eq!(of_error(&wrong.into()), Exit::Usage);
        let error = Error::NotEtl { path: "x".into(), reason: "y".into() };
        assert_eq!(of_error(&error.into()), Exit::BadInput);
        assert_eq!(of_error(&Error::MissingPart("y".into()).into()), Exit::BadInput);
        assert_eq!(of_error(&Error::MissingEvents("z".to_owned().into()).into()), Exit::MissingEvents);
    }
}
