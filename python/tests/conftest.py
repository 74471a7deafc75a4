"""What the tests of the module share: traces, and the program to compare with, which is the one in the wheel unless
PFNSET_TEST_PROGRAM names another."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
SYNTHETIC = ROOT.parent / "shared" / "traces" / "synthetic"
HOSTILE = ROOT.parent / "shared" / "hostile"


def traces():
    """All traces that are there."""
    return sorted(FIXTURES.glob("*.etl")) + sorted(SYNTHETIC.glob("**/*.etl"))


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", "ignore::pfnset.TraceWarning")


def pytest_report_header(config):
    lines = [f"fixtures: {len(list(FIXTURES.glob('*.etl')))} traces"]
    for folder in (SYNTHETIC, HOSTILE):
        if not folder.is_dir():
            lines.append(f"SKIPPED: traces of {folder.name}, no {os.path.relpath(folder, ROOT)}")
    return lines


def program(*arguments, env=None):
    """Runs the program."""
    script = "pfnset.exe" if os.name == "nt" else "pfnset"
    name = os.environ.get("PFNSET_TEST_PROGRAM") or str(Path(sysconfig.get_path("scripts")) / script)
    environment = {**os.environ, "COLUMNS": "120", "PFNSET_CHARACTERS": "unicode", **(env or {})}
    return subprocess.run(
        [name, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, env=environment, timeout=300
    )


@pytest.fixture
def resident():
    return FIXTURES / "resident-small.etl"


@pytest.fixture
def python():
    """Runs Python code in a process of its own."""

    def run(code, *arguments, **options):
        command = [sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)

    return run
