"""Exceptions, one for each way in which the program ends without a result, and the warning that traces give."""

import contextlib
import sys
import warnings

from . import _pfnset


class Error(Exception):
    """A call has no result. ``exit_code`` is that of the program."""

    exit_code = 2


class UsageError(Error, ValueError):
    """An argument is wrong: an unknown dimension, a pattern that cannot be, arguments that do not go together."""


class NotATrace(Error):
    """A file cannot be read, is no trace, or does not belong to the recording."""

    exit_code = 3


class MissingPart(Error):
    """What the call needs is missing from the file: it is cut, or records were lost."""

    exit_code = 3


class MissingEvents(Error):
    """What the call needs was not recorded. ``advice`` says how to record it; it may be None."""

    exit_code = 4

    def __init__(self, text, advice=None):
        super().__init__(text if advice is None else f"{text}. {advice}")
        self.advice = advice


class TraceWarning(UserWarning):
    """Something makes numbers of a trace doubtful, or an argument had no effect."""


_KINDS = {"usage": UsageError, "not_a_trace": NotATrace, "missing_part": MissingPart}


def _made(failure, names):
    kind, text, advice = failure.args
    if kind == "missing_events":
        return MissingEvents(text, advice)
    if kind == "fault":
        return Error(f"an error of pfnset itself, please report it: {text}")
    if kind == "usage":
        for flag, name in names:
            text = text.replace(flag, name)
    return _KINDS.get(kind, Error)(text)


@contextlib.contextmanager
def translated(names=()):
    """Failures of calls become exceptions. ``names``: flags of the program, and what their arguments are called here."""
    try:
        yield
    except _pfnset.Failure as failure:
        raise _made(failure, names) from None


def warn(lines):
    """Warnings at the line that called this package."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "pfnset":
        level, frame = level + 1, frame.f_back
    for line in lines:
        warnings.warn(line, TraceWarning, stacklevel=level)
