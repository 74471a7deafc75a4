"""Files made to break readers raise exceptions of the module, and nothing else."""

import os
import random
import warnings

import pfnset
import pytest
from conftest import FIXTURES, HOSTILE, ROOT

METHODS = ["info", "events", "resident", "refset", "cpu", "memory", "processes", "stacks", "allocations", "faults", "pages"]
SEED = int(os.environ.get("PFNSET_TEST_SEED", random.randrange(1 << 32)))


def ask_all(path):
    """Number of calls that gave something."""
    given = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trace = pfnset.open(path, unpack_limit="64MiB")
        except pfnset.Error as error:
            assert "error of pfnset itself" not in str(error)
            return given
        with trace:
            for name in METHODS:
                try:
                    made = getattr(trace, name)()
                    list(made.rows if isinstance(made, pfnset.Answer) else made)
                    given += 1
                except pfnset.Error as error:
                    assert "error of pfnset itself" not in str(error), name
    return given


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.etl")), ids=lambda path: path.stem)
def test_cut_files(path, tmp_path):
    whole = path.read_bytes()
    for length in {0, 1, 71, 72, 500, 4096, 65536, len(whole) // 2, len(whole) - 1}:
        cut = tmp_path / "cut.etl"
        cut.write_bytes(whole[:length])
        ask_all(cut)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.etl")), ids=lambda path: path.stem)
def test_changed_files(path, tmp_path):
    print("PFNSET_TEST_SEED =", SEED)
    whole, made = path.read_bytes(), random.Random(SEED)
    given = 0
    for _ in range(12):
        changed = bytearray(whole)
        for _ in range(made.choice([1, 10, 1000])):
            changed[made.randrange(len(changed))] = made.randrange(256)
        broken = tmp_path / "broken.etl"
        broken.write_bytes(changed)
        given += ask_all(broken)
    assert given > 0, "some of these files can be read"


def _files():
    corpus = [folder for folder in (ROOT / "fuzz" / "corpus", HOSTILE) if folder.is_dir()]
    return sorted(path for folder in corpus for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 64 << 20)


@pytest.mark.skipif(not _files(), reason="no hostile files are there")
def test_hostile_files():
    for path in _files():
        ask_all(path)


def is_harmless(text):
    return not any(hidden in text for hidden in "\x1b\x07\x7f\x9b\u202e\u200b\x00")


def test_messages_are_harmless(resident):
    name = "a\x1b[2Jb\u202e.etl"
    for path in (name, name.encode()):
        with pytest.raises(pfnset.NotATrace) as caught:
            pfnset.open(path)
        assert is_harmless(str(caught.value)) and "a\\x1b[2Jb\\u{202e}" in str(caught.value)
    with pfnset.open(resident) as trace:
        for wrong in ({"group_by": name}, {"where": name}, {"columns": name}, {"preset": name}, {"snapshot": name}):
            with pytest.raises(pfnset.UsageError) as caught:
                trace.resident(**wrong)
            assert is_harmless(str(caught.value)), wrong
        with pytest.raises(pfnset.UsageError) as caught:
            trace.table(name)
        assert is_harmless(str(caught.value))
        for call in (lambda: trace.resident(where={"process": name}), lambda: trace.table("events", events=name)):
            with pytest.warns(pfnset.TraceWarning) as told:
                call()
            texts = [str(warning.message) for warning in told]
            assert all(map(is_harmless, texts)) and any("a\\x1b[2Jb\\u{202e}" in text for text in texts)


def test_names_are_harmless_where_people_see_them(resident, tmp_path):
    name = "e\x1b\u202e<r>".encode()
    assert b"explorer" in resident.read_bytes() and len(name) == len("explorer")
    changed = tmp_path / "changed.etl"
    changed.write_bytes(resident.read_bytes().replace(b"explorer", name))
    with pfnset.open(changed) as trace:
        answer = trace.processes()
        assert any("\x1b" in row["name"] for row in answer.rows), "rows are data"
        for text in (repr(answer), answer._repr_html_(), repr(answer.rows), answer.rows._repr_html_()):
            assert is_harmless(text)
        for text in (answer._repr_html_(), answer.rows._repr_html_()):
            assert "e\\x1b\\u{202e}&lt;r&gt;" in text


@pytest.mark.parametrize("threads", [0, 1025, 65535])
def test_more_threads_than_a_machine_has_are_refused(resident, threads):
    with pytest.raises(pfnset.UsageError, match="from 1 to 1024"):
        pfnset.open(resident, threads=threads)
