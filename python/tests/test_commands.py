"""Each method gives what the program gives: the JSON object, the rows of CSV, the text, the words for what is wrong."""

import csv
import io
import json
import os
import subprocess

import pfnset
import pytest
from conftest import FIXTURES, ROOT, SYNTHETIC, program, traces

# Method, its arguments, the flags of the program.
CALLS = [
    ("info", {}, []),
    ("events", {}, []),
    ("events", {"name": "Process*", "digest": True}, ["--name=Process*", "--digest"]),
    ("resident", {}, []),
    ("resident", {"group_by": ["process", "category"]}, ["--group-by=process,category"]),
    (
        "resident",
        {"where": {"list": ["Active", "Standby"], "category": "!Free"}, "group_by": "list", "snapshot": "last"},
        ["--where=list=Active;Standby", "--where=category=!Free", "--group-by=list", "--snapshot=last"],
    ),
    ("resident", {"preset": "files", "sort": "name"}, ["--preset=files", "--sort=name"]),
    ("refset", {}, []),
    ("refset", {"group_by": "impact", "timeline": None}, ["--group-by=impact"]),
    ("refset", {"timeline": "100ms"}, ["--timeline=100ms"]),
    ("refset", {"verify": True}, ["--verify"]),
    ("cpu", {}, []),
    ("cpu", {"group_by": ["process", "thread"], "from_": 0.001}, ["--group-by=process,thread", "--from=0.001"]),
    ("cpu", {"preset": "delays"}, ["--preset=delays"]),
    ("cpu", {"timeline": "10ms"}, ["--timeline=10ms"]),
    ("memory", {}, []),
    ("memory", {"group_by": "process"}, ["--group-by=process"]),
    ("memory", {"timeline": "all"}, ["--timeline=all"]),
    ("processes", {}, []),
    ("processes", {"where": {"started": True}, "sort": "start"}, ["--where=started=true", "--sort=start"]),
    ("stacks", {}, []),
    ("stacks", {"tree": True, "top": 2}, ["--tree", "--top=2"]),
    ("stacks", {"group_by": ["process", "module"]}, ["--group-by=process,module"]),
    ("allocations", {}, []),
    ("allocations", {"of": "pool", "group_by": "tag"}, ["--of=pool", "--group-by=tag"]),
    ("faults", {}, []),
    ("faults", {"of": "disk", "group_by": ["disk", "operation"]}, ["--of=disk", "--group-by=disk,operation"]),
    ("faults", {"group_by": ["disk"]}, ["--group-by=disk"]),
    ("faults", {"of": "again"}, ["--of=again"]),
    ("symbols", {}, []),
]


def cases():
    """Every call on each fixture. Of the recorded samples each has one call, unless PFNSET_PYTHON_SAMPLES=all: a quarter of an hour."""
    for place, trace in enumerate(traces()):
        is_whole = trace.parent == FIXTURES or os.environ.get("PFNSET_PYTHON_SAMPLES") == "all"
        for name, arguments, flags in CALLS if is_whole else [CALLS[place % len(CALLS)]]:
            label = "-".join([trace.stem, name, *map(str, arguments)])
            yield pytest.param(trace, name, arguments, flags, id=label)


def of_csv(cell, value):
    """Whether a cell of CSV says the same as a value."""
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == str(value).lower()
    if isinstance(value, int):
        return int(cell, 16 if cell.startswith("0x") else 10) == value
    if isinstance(value, float):
        return abs(float(cell) - value) <= 1e-6 + 1e-9 * abs(value)
    if isinstance(value, list):
        return cell == "+".join(map(str, value))
    return cell == value or not value.isprintable()


def same_rows(table, text):
    heading, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    # An answer without columns has no heading.
    assert table.columns == heading
    found = table.to_dicts()
    assert len(found) == len(rows)
    for row, cells in zip(found, rows):
        assert all(of_csv(cell, value) for cell, value in zip(cells, row.values())), (row, cells)


@pytest.mark.parametrize("trace, name, arguments, flags", list(cases()))
def test_a_method_is_a_command(trace, name, arguments, flags):
    # Without a width each message is one line.
    ran = program(name, trace, "--format=json", *flags, env={"COLUMNS": ""})
    with pfnset.open(trace) as opened:
        if ran.returncode in (0, 1):
            answer = getattr(opened, name)(**arguments)
            assert answer.exit_code == ran.returncode
            assert answer.to_json() == ran.stdout.decode()
            assert answer.to_dict() == json.loads(ran.stdout)
            if "digest" not in arguments:
                if trace.parent == FIXTURES and "top" not in arguments:
                    same_rows(answer.rows, program(name, trace, "--format=csv", *flags).stdout.decode())
            if trace.parent == FIXTURES:
                assert answer.text() == program(name, trace, *flags).stdout.decode()
            told = [line.removeprefix("pfnset: ").removeprefix("warning: ") for line in ran.stderr.decode().splitlines()]
            assert answer.warnings == told
        else:
            with pytest.raises(pfnset.Error) as caught:
                getattr(opened, name)(**arguments)
            assert caught.value.exit_code == ran.returncode
            said = " ".join(ran.stderr.decode().split())
            start = " ".join(str(caught.value).split()).replace("from_:", "--from:")[:60]
            assert start in said


@pytest.mark.parametrize("trace", traces(), ids=lambda trace: trace.stem)
def test_records_are_those_of_the_program(trace):
    ran = program("events", trace, "--rows", "--format=jsonl", "--head=500")
    with pfnset.open(trace) as opened:
        assert opened.records(head=500) == [json.loads(line) for line in ran.stdout.splitlines()]


def test_groups_stand_beside_a_timeline():
    trace = FIXTURES / "faults-x86.etl"
    flags = ["--group-by=process", "--timeline=100ms"]
    with pfnset.open(trace) as opened:
        answer = opened.faults(group_by="process", timeline="100ms")
    assert answer.to_json() == program("faults", trace, "--format=json", *flags).stdout.decode()
    same_rows(answer.rows, program("faults", trace, "--format=csv", flags[1]).stdout.decode())


def test_several_files_are_one_recording(resident):
    kernel, user = SYNTHETIC / "resident-split.etl", SYNTHETIC / "resident-split.user.etl"
    with pytest.raises(pfnset.NotATrace, match="does not belong to the recording"):
        pfnset.open(resident, FIXTURES / "refset-small.etl")
    if not user.exists():
        pytest.skip("no recording in two files")
    with pfnset.open(kernel, user) as opened:
        for name in ["info", "resident", "processes"]:
            expected = program(name, kernel, user, "--format=json").stdout.decode()
            assert getattr(opened, name)().to_json() == expected


def test_sides_are_compared(resident):
    left, right = resident, FIXTURES / "refset-proved.etl"
    for arguments, flags in [
        ({}, []),
        ({"group_by": "category", "sort": "name", "all": True}, ["--group-by=category", "--sort=name", "--all"]),
        ({"tolerance": "2%", "snapshot": ("0", "last")}, ["--tolerance=2%", "--snapshot=0,last"]),
    ]:
        ran = program("diff", left, right, "--format=json", *flags)
        answer = pfnset.diff(left, right, **arguments)
        assert (answer.exit_code, answer.to_json()) == (ran.returncode, ran.stdout.decode())
        assert answer.text() == program("diff", left, right, *flags).stdout.decode()
        same_rows(answer.rows, program("diff", left, right, "--format=csv", *flags).stdout.decode())
    assert pfnset.diff(left, left).exit_code == 0
    stacks = FIXTURES / "stacks-keys.etl"
    ran = program("diff", stacks, left, "--of=samples", "--measure=total", "--sort=share", "--format=json")
    answer = pfnset.diff(stacks, left, of="samples", measure="total", sort="share")
    assert (answer.exit_code, answer.to_json()) == (ran.returncode, ran.stdout.decode())
    with pfnset.open(left) as opened:
        assert pfnset.diff(opened, right)["left"] == pfnset.diff([left], right)["left"]


def test_budgets_are_checked(tmp_path, resident):
    budgets, saved, junit = tmp_path / "b.toml", tmp_path / "s.json", tmp_path / "j.xml"
    made = program("check", "--init", resident, "-o", budgets)
    assert made.returncode == 0, made.stderr
    ran = program("check", resident, "--budgets", budgets, "--format=json")
    answer = pfnset.check(resident, budgets=budgets, save_baseline=saved, junit=junit)
    assert (answer.exit_code, answer.to_dict()) == (ran.returncode, json.loads(ran.stdout))
    assert saved.exists() and junit.read_text().startswith("<?xml")
    junit.unlink()
    assert answer.text() == program("check", resident, "--budgets", budgets).stdout.decode()
    with pytest.raises(pfnset.UsageError, match="would write them again"):
        answer.to("csv")
    assert not junit.exists()
    later = pfnset.check([resident], budgets=budgets, baseline=saved, unit="kib")
    assert later.exit_code == 0 and len(later["traces"]) == 1
    budgets.write_text('[[budget]]\nname = "x"\nmax = "1 page"\n')
    assert pfnset.check(resident, budgets=budgets).exit_code == 1
    budgets.write_text('[[budget]]\nnome = "x"\n')
    with pytest.raises(pfnset.UsageError, match="line 2"):
        pfnset.check(resident, budgets=budgets)


def test_the_report_is_a_page(resident):
    with pfnset.open(resident) as opened:
        page = opened.report()
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")
    assert page.encode() == program("report", resident).stdout


def test_the_command_is_the_program(resident):
    """What pip installs as the command behaves like the program: output, exit codes, closed pipes."""
    assert program("--version").stdout.decode().split() == ["pfnset", pfnset.__version__]
    assert program().returncode == 2
    assert b"Usage" in program("resident", "--help").stdout
    assert program("resident", resident / "none").returncode == 3
    ran = program("resident", resident, "--group-by=procss")
    assert ran.returncode == 2 and b"--group-by" in ran.stderr
    assert ran.stdout == b""
    piped = f"'{program.__globals__['sysconfig'].get_path('scripts')}/pfnset' events '{resident}' --rows | head -n 1"
    ran = subprocess.run(["sh", "-c", piped], capture_output=True, cwd=ROOT)
    assert ran.stderr == b"" and ran.stdout.count(b"\n") == 1
