"""A trace that is open."""

import contextlib
import threading

from . import _errors, _flags, _pfnset
from ._answer import Answer
from ._table import Table


class Trace:
    """A trace: a file, or several of one recording. ``pfnset.open`` makes it.

    What calls need of the file is read once and kept. One call runs at a time; others wait for it.
    """

    def __init__(self, paths, options, threads, progress):
        self.paths = tuple(paths)
        self._progress = progress
        self._threads = threads
        self._options = _flags.flags(**options)
        self._lock = threading.Lock()
        self._owner = None
        arguments = ["info", *self._options, *self.paths]
        with _errors.translated(_flags.names(options)):
            self._open = _pfnset.Trace(arguments, threads, progress)

    def close(self):
        """Lets the file go. Tables stay; answers lose the texts that nobody has asked for yet."""
        with self._alone():
            self._open.close()

    @property
    def closed(self):
        """True after ``close``, and where a call that was interrupted did not stop in time."""
        return self._open.is_closed

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __reduce_ex__(self, protocol):
        raise TypeError("a pfnset.Trace is an open file and is not pickled: pass trace.paths on, and open them there")

    def __repr__(self):
        state = ", closed" if self.closed else ""
        return f"<pfnset.Trace {', '.join(map(repr, self.paths))}{state}>"

    @contextlib.contextmanager
    def _alone(self):
        own = threading.get_ident()
        if self._owner == own:
            raise RuntimeError("a call on this trace is running: its progress function cannot use the trace")
        with self._lock:
            self._owner = own
            try:
                yield
            finally:
                self._owner = None

    def _run(self, arguments, text):
        with self._alone():
            return self._open.run([*arguments, *self.paths], text, self._progress)

    def _answer(self, command, arguments, view=None):
        view = {} if view is None else view
        flags = (_flags.flags(**arguments), _flags.flags(**view))
        return Answer(command, *flags, self._run, _flags.names([*arguments, *view]))

    def table(self, name, *, snapshot="last", events=None):
        """A table as ``pfnset export`` writes it: docs/export.md has their names and columns.

        ``snapshot`` is for pages, resident and ranges: "last", "all" or a number. ``events`` is for events: patterns of their names.
        """
        patterns = events if events is None or isinstance(events, str) else ";".join(events)
        with _errors.translated(), self._alone():
            batches, told = self._open.table(name, str(snapshot), patterns, self._progress)
        _errors.warn(told)
        return Table(batches, told)

    def pages(self, *, snapshot="last"):
        """One row for each page of RAM at a snapshot."""
        return self.table("pages", snapshot=snapshot)

    def info(self):
        """What to know before trusting the trace: session, keywords, losses, damage, fitness for each analysis."""
        return self._answer("info", {})

    @property
    def trust(self):
        """Can its numbers be true? "yes", or what is in the way, as ``info`` says it. ``info()["unchecked"]``: what was not looked at."""
        return self.info()["trust"]

    @property
    def doubts(self):
        """What makes numbers wrong, with its code: docs/export.md lists the codes."""
        return self.info()["doubts"]

    def resident(
        self,
        *,
        group_by=None,
        where=None,
        preset=None,
        sort=None,
        classification=None,
        snapshot=None,
        explain=None,
        process=None,
        symbols=None,
        pooltags=None,
        top=None,
        unit=None,
        columns=None,
        all=False,
        wpa=False,
        pivot=None,
    ):
        """What every page of RAM holds at a snapshot, corrected, with WPA's number beside it."""
        arguments = {
            "group_by": group_by,
            "where": where,
            "preset": preset,
            "sort": sort,
            "classification": classification,
            "snapshot": snapshot,
            "explain": explain,
            "process": process,
            "symbols": symbols,
            "pooltags": pooltags,
        }
        view = {"top": top, "unit": unit, "columns": columns, "all": all, "wpa": wpa, "pivot": pivot}
        return self._answer("resident", arguments, view)

    def refset(
        self,
        *,
        group_by=None,
        where=None,
        sort=None,
        from_=None,
        to=None,
        timeline=None,
        verify=False,
        max_residue=None,
        symbols=None,
        top=None,
        unit=None,
        columns=None,
    ):
        """Which pages a scenario touched, who holds them, when the peak was, checked against the final state."""
        arguments = {
            "group_by": group_by,
            "where": where,
            "sort": sort,
            "from_": from_,
            "to": to,
            "timeline": timeline,
            "verify": verify,
            "max_residue": max_residue,
            "symbols": symbols,
        }
        return self._answer("refset", arguments, {"top": top, "unit": unit, "columns": columns})

    def cpu(
        self,
        *,
        group_by=None,
        where=None,
        sort=None,
        from_=None,
        to=None,
        preset=None,
        timeline=None,
        tick=None,
        symbols=None,
        top=None,
        unit=None,
        columns=None,
    ):
        """Processors: who ran, who was ready and had to wait, what interrupts cost."""
        arguments = {
            "group_by": group_by,
            "where": where,
            "sort": sort,
            "from_": from_,
            "to": to,
            "preset": preset,
            "timeline": timeline,
            "tick": tick,
            "symbols": symbols,
        }
        return self._answer("cpu", arguments, {"top": top, "unit": unit, "columns": columns})

    def memory(
        self,
        *,
        group_by=None,
        where=None,
        from_=None,
        to=None,
        timeline=None,
        sort=None,
        top=None,
        unit=None,
        columns=None,
    ):
        """Memory over time: page lists, pools, commit, working sets, and what was taken from standby."""
        arguments = {"group_by": group_by, "where": where, "from_": from_, "to": to, "timeline": timeline}
        view = {"sort": sort, "top": top, "unit": unit, "columns": columns}
        return self._answer("memory", arguments, view)

    def processes(
        self, *, group_by=None, where=None, sort=None, snapshot=None, top=None, unit=None, columns=None
    ):
        """The processes: start, end, parent, command line, and their pages at a snapshot."""
        arguments = {"group_by": group_by, "where": where, "sort": sort, "snapshot": snapshot}
        return self._answer("processes", arguments, {"top": top, "unit": unit, "columns": columns})

    def events(self, *, provider=None, name=None, digest=False):
        """A row for each kind of event."""
        return self._answer("events", {"provider": provider, "name": name, "digest": digest})

    def records(
        self,
        *,
        provider=None,
        name=None,
        where=None,
        field=None,
        fields=None,
        from_=None,
        to=None,
        around=None,
        margin=None,
        head=None,
        manifest=None,
        stacks=False,
        symbols=None,
    ):
        """Records in the order of time, each as a dict with its fields. ``table("events")`` has them as a table."""
        arguments = {
            "provider": provider,
            "name": name,
            "where": where,
            "field": field,
            "fields": fields,
            "from_": from_,
            "to": to,
            "around": around,
            "margin": margin,
            "head": head,
            "manifest": manifest,
            "stacks": stacks,
            "symbols": symbols,
        }
        import json

        flags = ["events", "--rows", "--format=jsonl", *_flags.flags(**arguments)]
        with _errors.translated(_flags.names(arguments)):
            _, output, _, _, told = self._run(flags, (0, False))
        _errors.warn(told)
        return [json.loads(line) for line in output.splitlines()]

    def stacks(
        self,
        *,
        of=None,
        group_by=None,
        where=None,
        symbols=None,
        lines=False,
        inlines=False,
        source_root=None,
        from_=None,
        to=None,
        leaf=None,
        fold=None,
        max_depth=None,
        tree=False,
        caller_of=None,
        callee_of=None,
        depth=None,
        sort=None,
        top=None,
        unit=None,
        columns=None,
    ):
        """Which code did it: stacks of samples, context switches, allocations, page accesses and any other event."""
        arguments = {
            "of": of,
            "group_by": group_by,
            "where": where,
            "symbols": symbols,
            "lines": lines,
            "inlines": inlines,
            "source_root": source_root,
            "from_": from_,
            "to": to,
            "leaf": leaf,
            "fold": fold,
            "max_depth": max_depth,
            "tree": tree,
            "caller_of": caller_of,
            "callee_of": callee_of,
            "depth": depth,
            # Its lists and trees are cut in all forms.
            "top": top,
        }
        return self._answer("stacks", arguments, {"sort": sort, "unit": unit, "columns": columns})

    def faults(
        self,
        *,
        of=None,
        group_by=None,
        where=None,
        from_=None,
        to=None,
        snapshot=None,
        timeline=None,
        top=None,
        unit=None,
        columns=None,
    ):
        """What was read because it was not in RAM: hard faults, who waited for them, the disk, soft faults by kind."""
        arguments = {
            "of": of,
            "group_by": group_by,
            "where": where,
            "from_": from_,
            "to": to,
            "snapshot": snapshot,
            "timeline": timeline,
        }
        return self._answer("faults", arguments, {"top": top, "unit": unit, "columns": columns})

    def allocations(
        self,
        *,
        of=None,
        group_by=None,
        where=None,
        symbols=None,
        pooltags=None,
        sort=None,
        from_=None,
        to=None,
        preset=None,
        snapshot=None,
        timeline=None,
        top=None,
        unit=None,
        columns=None,
    ):
        """What was allocated and never freed: commit, kernel pool, heap blocks, by process, tag, function."""
        arguments = {
            "of": of,
            "group_by": group_by,
            "where": where,
            "symbols": symbols,
            "pooltags": pooltags,
            "sort": sort,
            "from_": from_,
            "to": to,
            "preset": preset,
            "snapshot": snapshot,
            "timeline": timeline,
        }
        return self._answer("allocations", arguments, {"top": top, "unit": unit, "columns": columns})

    def symbols(self, *, symbols=None, columns=None):
        """Which symbol files (PDB) the stacks need, which are found, which are missing."""
        return self._answer("symbols", {"symbols": symbols}, {"columns": columns})

    def report(self, *, budgets=None, symbols=None):
        """One HTML page with pictures and all numbers, as text: for a file, or for an iframe of a notebook."""
        first, *more = self.paths
        flags = _flags.flags(budgets=budgets, symbols=symbols)
        arguments = ["report", *self._options, *flags, first, *(f"--with={path}" for path in more)]
        with _errors.translated(_flags.names(["budgets", "symbols"])), self._alone():
            _, output, _, _, told = _pfnset.run(arguments, (0, False), self._threads, self._progress)
        _errors.warn(told)
        return output.decode()
