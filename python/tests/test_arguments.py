"""Arguments that are wrong are told as the program tells them, by the names that they have here."""

import inspect
import re
import warnings
from pathlib import Path

import pfnset
import pytest
from conftest import FIXTURES, program

# Flags that are something else in Python: the form and the file of the output, what open has, what one trace has no use for.
NOT_HERE = {
    "format", "csv-safe", "output", "color", "characters", "quiet", "threads", "strict", "each", "help",
    "ansi-codepage", "in-memory", "unpack-limit",
}  # fmt: skip
ELSEWHERE = {
    "stacks": {"weight"},
    "diff": {"with"},
    "check": {"with", "init", "force"},
    "report": {"with"},
}


@pytest.fixture
def opened(resident):
    with pfnset.open(resident) as trace:
        yield trace


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda t: t.resident(group_by="procss"), "group_by"),
        (lambda t: t.resident(where={"proces": "a"}), "where"),
        (lambda t: t.resident(sort="pagges"), "sort"),
        (lambda t: t.resident(top=3, columns="pges"), "columns"),
        (lambda t: t.resident(snapshot=7), "snapshot"),
        (lambda t: t.resident(explain=1 << 50), "explain"),
        (lambda t: t.cpu(from_="later"), ""),
        (lambda t: t.memory(timeline="0"), "timeline"),
        (lambda t: t.table("page"), "unknown table"),
        (lambda t: t.table("events"), "which events"),
        (lambda t: t.table("files", snapshot="all"), "snapshot"),
        (lambda t: t.table("traces"), "info"),
        (lambda t: t.pages(snapshot="x"), ""),
        (lambda t: t.pages(snapshot=9), ""),
        (lambda t: t.resident(preset="files", group_by="list"), "group_by"),
    ],
)
def test_what_is_wrong_is_a_value_error(opened, call, expected):
    with pytest.raises(ValueError) as caught:
        call(opened)
    assert isinstance(caught.value, pfnset.Error) and caught.value.exit_code == 2
    assert expected in str(caught.value)
    assert "--" not in str(caught.value).split("tip:")[0], "flags have the names of arguments"


def test_suggestions_are_those_of_the_program(opened, resident):
    said = program("resident", resident, "--group-by=procss").stderr.decode()
    suggestion = re.search(r"did you mean \S+|process", " ".join(said.split())).group()
    with pytest.raises(ValueError, match=re.escape(suggestion)):
        opened.resident(group_by=["procss"])
    with pytest.raises(TypeError):
        opened.resident(groupby="process")


def test_what_was_not_recorded_comes_with_advice():
    with pfnset.open(FIXTURES / "refset-proved.etl") as trace:
        with pytest.raises(pfnset.MissingEvents) as caught:
            trace.stacks(of="heap")
    assert caught.value.exit_code == 4 and caught.value.advice and caught.value.advice in str(caught.value)


def test_a_missing_file_is_no_trace(tmp_path):
    for path in [tmp_path / "none.etl", tmp_path, __file__, "https://example.org/a.etl"]:
        with pytest.raises(pfnset.Error) as caught:
            pfnset.open(path)
        assert caught.value.exit_code in (2, 3)
    with pytest.raises(pfnset.NotATrace):
        pfnset.open("-")
    with pytest.raises(ValueError, match="ansi_codepage"):
        pfnset.open(__file__, ansi_codepage="klingon")


def test_warnings_are_warnings_and_stay(opened):
    with pytest.warns(pfnset.TraceWarning, match="matches nothing") as caught:
        answer = opened.resident(where={"process": "no-such-process*"})
    assert Path(caught[0].filename).samefile(__file__), "the line of the caller is named"
    assert any("matches nothing" in line for line in answer.warnings)
    assert answer.rows.warnings == answer.warnings
    with pytest.warns(pfnset.TraceWarning, match="matches nothing"):
        opened.table("events", events=["Process*", "no-such-event"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(pfnset.TraceWarning):
            opened.resident(where="process=no-such-process*")


def _method(command):
    return getattr(pfnset, command, None) or getattr(pfnset.Trace, command)


@pytest.mark.parametrize(
    "command",
    ["info", "resident", "refset", "cpu", "memory", "processes", "stacks", "faults", "allocations", "symbols", "diff",
     "check", "report"],
)  # fmt: skip
def test_every_flag_is_an_argument(command):
    text = program(command, "--help").stdout.decode()
    flags = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M)) - NOT_HERE - ELSEWHERE.get(command, set())
    known = {name.rstrip("_").replace("_", "-") for name in inspect.signature(_method(command)).parameters}
    assert flags <= known, flags - known
    beside = {"self", "threads", "progress", "left", "right", "traces"} | NOT_HERE
    assert known - beside <= flags, known - beside - flags


def test_every_flag_of_events_is_an_argument_of_one_of_two_methods():
    text = program("events", "--help").stdout.decode()
    flags = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M)) - NOT_HERE - {"rows"}
    methods = [pfnset.Trace.events, pfnset.Trace.records]
    known = {name.rstrip("_") for method in methods for name in inspect.signature(method).parameters} - {"self"}
    assert flags == known


def test_stubs_say_what_is_there():
    """The stub has each name and argument of the module, and no other."""
    import ast

    stub = ast.parse((Path(pfnset.__file__).parent / "__init__.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    assert set(functions) | set(classes) == set(pfnset.__all__) - {"__version__"}
    methods = {node.name: node for node in classes["Trace"].body if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(pfnset.Trace) if not name.startswith("_")}
    assert {name for name in methods if not name.startswith("_")} == public
    for name, node in {**functions, **methods}.items():
        found = getattr(pfnset, name, None) or getattr(pfnset.Trace, name)
        if not isinstance(found, property) and not name.startswith("_"):
            arguments = node.args
            told = [arg.arg for arg in arguments.args + arguments.kwonlyargs]
            told += [arguments.vararg.arg] if arguments.vararg else []
            assert sorted(told) == sorted(inspect.signature(found).parameters), name
