import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

__version__: str

_Path: TypeAlias = str | os.PathLike[str]
_Paths: TypeAlias = _Path | Sequence[_Path]
_Names: TypeAlias = str | Sequence[str]
_Pattern: TypeAlias = str | int | bool
_Patterns: TypeAlias = str | Sequence[str]
_Conditions: TypeAlias = str | Sequence[str] | Mapping[str, _Pattern | Sequence[_Pattern]]
_Snapshot: TypeAlias = str | int
# Seconds since the trace began, a length of time as in "100ms", or the text of a mark.
_Moment: TypeAlias = str | float
_Progress: TypeAlias = Callable[[int, int], object]

class Error(Exception):
    exit_code: int

class UsageError(Error, ValueError): ...
class NotATrace(Error): ...
class MissingPart(Error): ...

class MissingEvents(Error):
    advice: str | None

class TraceWarning(UserWarning): ...

class Table:
    warnings: list[str]
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    @property
    def columns(self) -> list[str]: ...
    @property
    def schema(self) -> dict[str, str]: ...
    @property
    def nbytes(self) -> int: ...
    def head(self, count: int = 5) -> list[dict[str, Any]]: ...
    def to_dicts(self) -> list[dict[str, Any]]: ...
    # Objects of libraries that may not be there.
    def to_arrow(self) -> Any: ...
    def to_polars(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def _repr_html_(self) -> str: ...

class Answer:
    exit_code: int
    warnings: list[str]
    rows: Table
    def to_dict(self) -> dict[str, Any]: ...
    def to_json(self) -> str: ...
    def __getitem__(self, key: str) -> Any: ...
    def text(self, width: int | None = None, **view: Any) -> str: ...
    def to(self, form: str, **view: Any) -> str: ...
    def _repr_html_(self) -> str: ...

class Trace:
    paths: tuple[str, ...]
    def __enter__(self) -> Trace: ...
    def __exit__(self, *exception: object) -> None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def table(self, name: str, *, snapshot: _Snapshot = "last", events: _Patterns | None = None) -> Table: ...
    def pages(self, *, snapshot: _Snapshot = "last") -> Table: ...
    def info(self) -> Answer: ...
    @property
    def trust(self) -> str: ...
    @property
    def doubts(self) -> list[dict[str, Any]]: ...
    def resident(
        self,
        *,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        preset: str | None = None,
        sort: str | None = None,
        classification: str | None = None,
        snapshot: _Snapshot | None = None,
        explain: int | str | None = None,
        process: int | None = None,
        symbols: _Paths | None = None,
        pooltags: _Path | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
        all: bool = False,
        wpa: bool = False,
        pivot: str | None = None,
    ) -> Answer: ...
    def refset(
        self,
        *,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        sort: str | None = None,
        from_: _Moment | None = None,
        to: _Moment | None = None,
        timeline: _Moment | None = None,
        verify: bool = False,
        max_residue: float | None = None,
        symbols: _Paths | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
    ) -> Answer: ...
    def cpu(
        self,
        *,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        sort: str | None = None,
        from_: _Moment | None = None,
        to: _Moment | None = None,
        preset: str | None = None,
        timeline: _Moment | None = None,
        tick: _Moment | None = None,
        symbols: _Paths | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
    ) -> Answer: ...
    def memory(
        self,
        *,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        from_: _Moment | None = None,
        to: _Moment | None = None,
        timeline: _Moment | None = None,
        sort: str | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
    ) -> Answer: ...
    def processes(
        self,
        *,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        sort: str | None = None,
        snapshot: _Snapshot | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
    ) -> Answer: ...
    def events(
        self,
        *,
        provider: _Patterns | None = None,
        name: _Patterns | None = None,
        digest: bool = False,
    ) -> Answer: ...
    def records(
        self,
        *,
        provider: _Patterns | None = None,
        name: _Patterns | None = None,
        where: _Conditions | None = None,
        field: _Conditions | None = None,
        fields: _Names | None = None,
        from_: _Moment | None = None,
        to: _Moment | None = None,
        around: _Moment | None = None,
        margin: _Moment | None = None,
        head: int | None = None,
        manifest: _Paths | None = None,
        stacks: bool = False,
        symbols: _Paths | None = None,
    ) -> list[dict[str, Any]]: ...
    def stacks(
        self,
        *,
        of: str | None = None,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        symbols: _Paths | None = None,
        lines: bool = False,
        inlines: bool = False,
        source_root: str | _Names | None = None,
        from_: _Moment | None = None,
        to: _Moment | None = None,
        leaf: _Patterns | None = None,
        fold: _Patterns | None = None,
        max_depth: int | None = None,
        tree: bool = False,
        caller_of: _Patterns | None = None,
        callee_of: _Patterns | None = None,
        depth: int | None = None,
        sort: str | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
    ) -> Answer: ...
    def faults(
        self,
        *,
        of: str | None = None,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        from_: _Moment | None = None,
        to: _Moment | None = None,
        snapshot: _Snapshot | None = None,
        timeline: _Moment | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
    ) -> Answer: ...
    def allocations(
        self,
        *,
        of: str | None = None,
        group_by: _Names | None = None,
        where: _Conditions | None = None,
        symbols: _Paths | None = None,
        pooltags: _Path | None = None,
        sort: str | None = None,
        from_: _Moment | None = None,
        to: _Moment | None = None,
        preset: str | None = None,
        snapshot: _Snapshot | None = None,
        timeline: _Moment | None = None,
        top: int | None = None,
        unit: str | None = None,
        columns: _Names | None = None,
    ) -> Answer: ...
    def symbols(self, *, symbols: _Paths | None = None, columns: _Names | None = None) -> Answer: ...
    def report(self, *, budgets: _Path | None = None, symbols: _Paths | None = None) -> str: ...

_Side: TypeAlias = _Path | Sequence[_Path] | Trace

def open(
    path: _Path,
    *more: _Path,
    threads: int | None = None,
    ansi_codepage: str | int | None = None,
    in_memory: str | int | None = None,
    unpack_limit: str | int | None = None,
    progress: _Progress | None = None,
) -> Trace: ...
def diff(
    left: _Side,
    right: _Side,
    *,
    group_by: _Names | None = None,
    where: _Conditions | None = None,
    sort: str | None = None,
    all: bool = False,
    refset: bool = False,
    allocations: bool = False,
    of: str | None = None,
    measure: str | None = None,
    symbols: _Paths | None = None,
    classification: str | None = None,
    snapshot: _Snapshot | None = None,
    tolerance: str | int | None = None,
    match: str | None = None,
    apart: bool = False,
    map: _Conditions | None = None,
    locale: str | None = None,
    decimal: str | None = None,
    group: str | None = None,
    ansi_codepage: str | int | None = None,
    in_memory: str | int | None = None,
    unpack_limit: str | int | None = None,
    top: int | None = None,
    unit: str | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> Answer: ...
def check(
    *traces: _Side,
    budgets: _Path,
    baseline: _Path | None = None,
    save_baseline: _Path | None = None,
    junit: _Path | None = None,
    symbols: _Paths | None = None,
    ansi_codepage: str | int | None = None,
    in_memory: str | int | None = None,
    unpack_limit: str | int | None = None,
    unit: str | None = None,
    threads: int | None = None,
    progress: _Progress | None = None,
) -> Answer: ...
