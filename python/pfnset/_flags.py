"""Arguments of Python as arguments of the program."""

import os
from collections.abc import Mapping


def path(name):
    """A path that the program takes for no flag and not for standard input."""
    name = os.fspath(name)
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    return os.path.join(os.curdir, name) if name.startswith("-") else name


def recording(files):
    """The files of one recording: a path, several, or a trace that is open."""
    files = getattr(files, "paths", files)
    if isinstance(files, (str, bytes, os.PathLike)):
        files = [files]
    first, *more = [path(file) for file in files]
    return [first, *(f"--with={file}" for file in more)]


def _several(value):
    return [value] if isinstance(value, (str, bytes, os.PathLike)) else list(value)


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fsdecode(os.fspath(value)) if isinstance(value, (bytes, os.PathLike)) else str(value)


def _conditions(where):
    """``{"process": "chrome*"}``, ``["process=chrome*"]`` or ``"process=chrome*"``. Several patterns: one of them matches."""
    if not isinstance(where, Mapping):
        return _several(where)
    lists = {name: value if isinstance(value, (list, tuple, set, frozenset)) else [value] for name, value in where.items()}
    return [f"{name}={';'.join(_text(pattern) for pattern in patterns)}" for name, patterns in lists.items()]


# Lists of names are one argument; all others are repeated.
_JOINED = {"group_by", "columns", "fields", "snapshot"}
_PATTERNS = {"name", "provider", "leaf", "fold", "caller_of", "callee_of"}
_CONDITIONS = {"where", "field", "map"}


def flag(name):
    """The flag of an argument."""
    return "--" + name.rstrip("_").replace("_", "-")


def flags(**arguments):
    """The flags of arguments that were given: neither None nor False."""
    made = []
    for name, value in arguments.items():
        if value is None or value is False:
            continue
        if value is True:
            made.append(flag(name))
        elif name in _CONDITIONS:
            made += [f"{flag(name)}={condition}" for condition in _conditions(value)]
        elif name in _JOINED and not isinstance(value, (str, int)):
            made.append(f"{flag(name)}={','.join(_text(part) for part in value)}")
        elif name in _PATTERNS and not isinstance(value, str):
            made.append(f"{flag(name)}={';'.join(_text(part) for part in value)}")
        elif isinstance(value, (list, tuple, set, frozenset)):
            made += [f"{flag(name)}={_text(part)}" for part in value]
        else:
            made.append(f"{flag(name)}={_text(value)}")
    return made


def names(arguments):
    """Flags beside the names that the arguments have here, the longest first: one flag can be the beginning of another."""
    return sorted(((flag(name), name) for name in arguments), key=lambda pair: -len(pair[0]))
