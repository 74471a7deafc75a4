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
