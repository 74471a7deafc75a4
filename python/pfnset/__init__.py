"""What every page of RAM holds, and for whom, from Windows memory traces (ETW .etl files).

>>> import pfnset
>>> trace = pfnset.open("trace.etl")
>>> trace.resident(group_by=["process", "category"])
>>> trace.pages().to_polars()

A method is a command of the program pfnset: it takes the same dimensions, patterns and windows, and gives the same numbers.
"""

from ._answer import Answer
from ._calls import check, diff, open
from ._errors import (
    Error,
    MissingEvents,
    MissingPart,
    NotATrace,
    TraceWarning,
    UsageError,
)
from ._pfnset import __version__
from ._table import Table
from ._trace import Trace

__all__ = [
    "Answer",
    "Error",
    "MissingEvents",
    "MissingPart",
    "NotATrace",
    "Table",
    "Trace",
    "TraceWarning",
    "UsageError",
    "__version__",
    "check",
    "diff",
    "open",
]
