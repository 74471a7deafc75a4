"""What begins with files: opening a trace, comparing sides, checking budgets."""

from . import _flags, _pfnset
from ._answer import Answer
from ._trace import Trace


def open(path, *more, threads=None, ansi_codepage=None, in_memory=None, unpack_limit=None, progress=None):
    """Opens a trace: an .etl file, an archive with one, or all files of one recording.

    The file is read into memory, beyond ``in_memory`` ("4GiB") into a temporary file, so that it may be changed meanwhile.
    ``progress`` is called with the bytes that were read and the bytes that there are, 0 while that is not known.
    """
    options = {"ansi_codepage": ansi_codepage, "in_memory": in_memory, "unpack_limit": unpack_limit}
    return Trace([_flags.path(file) for file in (path, *more)], options, threads, progress)


def _called(command, sides, threads, progress, arguments, view, writes=False):
    names = _flags.names([*arguments, *view])
    paths = [part for side in sides for part in _flags.recording(side)]

    def run(arguments, text):
        return _pfnset.run([*arguments, *paths], text, threads, progress)

    return Answer(command, _flags.flags(**arguments), _flags.flags(**view), run, names, writes)


def diff(
    left,
    right,
    *,
    group_by=None,
    where=None,
    sort=None,
    all=False,
    refset=False,
    allocations=False,
    of=None,
    measure=None,
    symbols=None,
    classification=None,
    snapshot=None,
    tolerance=None,
    match=None,
    apart=False,
    map=None,
    locale=None,
    decimal=None,
    group=None,
    ansi_codepage=None,
    in_memory=None,
    unpack_limit=None,
    top=None,
    unit=None,
    threads=None,
    progress=None,
):
    """Compares two sides: traces, files that pfnset wrote, tables that WPA exported. ``exit_code`` is 1 where they differ.

    A side is a path, several paths of one recording, or a trace, which is read again.
    """
    arguments = {
        "group_by": group_by,
        "where": where,
        "sort": sort,
        "all": all,
        "refset": refset,
        "allocations": allocations,
        "of": of,
        "measure": measure,
        "symbols": symbols,
        "classification": classification,
        "snapshot": snapshot,
        "tolerance": tolerance,
        "match": match,
        "apart": apart,
        "map": map,
        "locale": locale,
        "decimal": decimal,
        "group": group,
        "ansi_codepage": ansi_codepage,
        "in_memory": in_memory,
        "unpack_limit": unpack_limit,
    }
    return _called("diff", [left, right], threads, progress, arguments, {"top": top, "unit": unit})


def check(
    *traces,
    budgets,
    baseline=None,
    save_baseline=None,
    junit=None,
    symbols=None,
    ansi_codepage=None,
    in_memory=None,
    unpack_limit=None,
    unit=None,
    threads=None,
    progress=None,
):
    """Checks budgets: is the memory of traces within its limits? ``exit_code`` is 1 where a budget failed, 3 where data is missing.

    Each of ``traces`` is a path or several paths of one recording; a folder stands for the traces in it.
    """
    arguments = {
        "budgets": budgets,
        "baseline": baseline,
        "save_baseline": save_baseline,
        "junit": junit,
        "symbols": symbols,
        "ansi_codepage": ansi_codepage,
        "in_memory": in_memory,
        "unpack_limit": unpack_limit,
        "unit": unit,
    }
    writes = save_baseline is not None or junit is not None
    return _called("check", traces, threads, progress, arguments, {}, writes)
