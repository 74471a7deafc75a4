"""What a command found."""

import html
import json

from . import _errors, _flags
from ._table import Table

_WIDTH = 120

# Commands whose text is made of the same answer as their JSON.
_TEXT_OF_JSON = {"diff", "check", "info", "events", "refset", "cpu", "processes", "stacks", "allocations", "symbols"}


class Answer:
    """What a command found: the program's JSON, its rows as a table, and its text.

    ``exit_code`` is what the program would end with: 1 where sides differ or a budget failed. ``warnings`` says what makes the numbers
    doubtful, and what was asked for and matches nothing.
    """

    def __init__(self, command, arguments, view, caller, names, writes=False):
        self._command = command
        self._arguments = arguments
        self._view = view
        self._caller = caller
        self._names = names
        # Files that the call has written would be written again.
        self._is_once = writes
        text = (_WIDTH, command in _TEXT_OF_JSON)
        self.exit_code, self._json, text, rows, self.warnings = self._run("json", [], text)
        self._text = text.decode() or None
        if command == "faults" and not any(flag.startswith(("--of=", "--timeline=")) for flag in arguments):
            # JSON is of all kinds; without a kind, its dimensions choose that of the rows.
            rows = self._run("csv", [])[3]
        self.rows = Table(rows, self.warnings)
        _errors.warn(self.warnings)
        if view:
            self._text = self.text(_WIDTH)

    def _run(self, form, view, text=(_WIDTH, False)):
        characters = [] if form in ("json", "csv", "jsonl") else ["--characters=unicode"]
        arguments = [self._command, f"--format={form}", "--color=never", *characters, *self._arguments, *view]
        with _errors.translated(self._names):
            return self._caller(arguments, text)

    def _again(self, form, view, width=_WIDTH):
        if self._is_once:
            raise _errors.UsageError(f"{form}: this call has written files, and would write them again")
        return self._run(form, view, (width, False))[1].decode()

    def to_dict(self):
        """The object that the program writes with ``--format json``; docs/json.md tells its keys."""
        return json.loads(self._json)

    def to_json(self):
        """The same as text."""
        return self._json.decode()

    def __getitem__(self, key):
        return self.to_dict()[key]

    def text(self, width=None, **view):
        """The table as people read it. ``view``: ``top``, ``unit``, ``columns`` and other flags for tables."""
        if view or width is not None:
            return self._again("table", _flags.flags(**view) if view else self._view, width or _WIDTH)
        if self._text is None:
            self._text = self._again("table", self._view)
        return self._text

    def to(self, form, **view):
        """Any form of the program: csv, jsonl, markdown, for stacks also collapsed."""
        return self._again(form, _flags.flags(**view))

    def __reduce_ex__(self, protocol):
        raise TypeError("a pfnset.Answer is not pickled: pickle answer.to_dict()")

    def __repr__(self):
        try:
            return self.text().rstrip("\n")
        except _errors.Error as error:
            return f"<pfnset.Answer of {self._command}: {len(self.rows)} rows; no text: {error}>"

    def _repr_html_(self):
        return f'<pre style="line-height: 1.2">{html.escape(repr(self))}</pre>'
