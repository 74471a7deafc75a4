"""Opening, closing, threads, signals, processes: the interpreter stays whole, and nothing leaks."""

import copy
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import pfnset
import pytest
from conftest import FIXTURES, traces


def test_what_holds_a_file_is_not_pickled(resident):
    with pfnset.open(resident) as trace:
        answer = trace.resident()
        for thing, word in [(trace, "paths"), (answer, "to_dict"), (answer.rows, "to_polars")]:
            for copied in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match=word):
                    copied(thing)


def _resident_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def _open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_ten_thousand_times_open_and_close_leak_nothing(resident, capsys):
    def cycles(count):
        for _ in range(count):
            pfnset.open(resident).close()

    cycles(500)
    before, files = _resident_kib(), _open_files()
    cycles(10_000)
    grown = _resident_kib() - before
    with capsys.disabled():
        print(f" 10,000 cycles: {grown:+} KiB", end="")
    assert grown < 4096, "one page for each cycle would be 40,000 KiB"
    assert _open_files() == files


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_answers_and_streams_leak_nothing(resident):
    with pfnset.open(resident) as trace:

        def cycles(count):
            for _ in range(count):
                table = trace.pages()
                table.__arrow_c_stream__(), table.__arrow_c_schema__()
                trace.resident().rows.__arrow_c_stream__()

        cycles(50)
        before = _resident_kib()
        cycles(300)
        # A table of pages has 270 KiB.
        assert _resident_kib() - before < 16_384


def test_traces_close_when_they_are_left(resident):
    trace = pfnset.open(resident)
    assert not trace.closed
    trace.close()
    trace.close()
    assert trace.closed and "closed" in repr(trace)
    with pfnset.open(resident) as trace:
        pass
    assert trace.closed


def test_threads_use_one_trace(resident):
    with pfnset.open(resident, threads=2) as trace:
        expected, found = trace.resident().to_json(), []
        work = [threading.Thread(target=lambda: found.append(trace.resident().to_json())) for _ in range(8)]
        [thread.start() for thread in work]
        [thread.join() for thread in work]
        assert found == [expected] * 8


def test_threads_use_many_traces():
    paths = [path for path in traces() if path.stat().st_size < 4 << 20][:8]
    alone = {path: pfnset.open(path).info().to_json() for path in paths}
    found = {}

    def ask(path):
        for _ in range(5):
            with pfnset.open(path, threads=2) as trace:
                found.setdefault(path, set()).add(trace.info().to_json())

    work = [threading.Thread(target=ask, args=(path,)) for path in paths for _ in range(2)]
    [thread.start() for thread in work]
    [thread.join() for thread in work]
    assert found == {path: {text} for path, text in alone.items()}


def test_a_number_of_threads_is_checked(resident):
    with pytest.raises((OverflowError, ValueError)):
        pfnset.open(resident, threads=-1)


def test_other_threads_run_meanwhile(resident):
    """The interpreter's lock is free while a call runs."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    with pfnset.open(resident) as trace:
        thread.start()
        before = counted[0]
        for _ in range(20):
            trace.resident()
        during = counted[0] - before
        done.set()
        thread.join()
    assert during > 20


def test_progress_is_told(resident):
    told = []
    with pfnset.open(resident, progress=lambda done, total: told.append((done, total))) as trace:
        trace.resident()
    assert told and all(0 <= done and (total == 0 or done <= total) for done, total in told)
    assert told[-1][0] == told[-1][1] > 0


def test_what_the_progress_function_raises_ends_the_call(resident):
    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    with pytest.raises(Enough):
        pfnset.open(resident, progress=stop)


def test_a_progress_function_cannot_use_its_trace(resident):
    caught, held = [], []

    def ask(done, total):
        if held:
            try:
                held[0].info()
            except RuntimeError as error:
                caught.append(str(error))

    held.append(pfnset.open(resident, progress=ask))
    held[0].resident()
    assert caught and "progress function" in caught[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_can_use_it(resident):
    with pfnset.open(resident) as trace:
        expected = trace.resident().to_json()
        child = os.fork()
        if child == 0:
            # No thread of the parent lives here.
            same = trace.resident().to_json() == expected
            with pfnset.open(resident) as own:
                same = same and own.resident().to_json() == expected
            os._exit(0 if same else 1)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                assert os.waitstatus_to_exitcode(status) == 0
                return
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")


INTERRUPTED = """
import signal, sys, threading, time, os
import pfnset
trace = pfnset.open(sys.argv[1], threads=2)
method, delay = sys.argv[2], float(sys.argv[3])
threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    while True:  # small traces are read faster than a signal comes
        getattr(trace, method)() if method != "open" else pfnset.open(sys.argv[1])
        if time.monotonic() - begin > 30:
            sys.exit("no KeyboardInterrupt came")
except KeyboardInterrupt:
    took = time.monotonic() - begin - delay
    assert took < 5, took
# The trace is whole after that.
assert trace.closed or trace.info()["schema"] == "pfnset.info"
print("stopped", round(took, 2))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("delay", [0.05, 0.3])
@pytest.mark.parametrize("method", ["open", "pages", "resident", "cpu", "refset", "stacks", "memory"])
def test_ctrl_c_stops_it(method, delay, python):
    needs = {"cpu": "cpu-compressed", "refset": "refset-proved", "stacks": "stacks-keys", "memory": "refset-proved"}
    path = FIXTURES / f"{needs.get(method, 'resident-small')}.etl"
    large = os.environ.get("PFNSET_LARGE_TRACE")
    ran = python(INTERRUPTED, large or path, method, delay)
    assert ran.returncode == 0 and ran.stdout.startswith("stopped"), ran.stderr


SHRUNK = """
import os, sys, pfnset
path = sys.argv[1]
trace = pfnset.open(path)
before = trace.info().to_dict()
os.truncate(path, 70000)
assert trace.resident()["snapshots"] and trace.pages()
os.truncate(path, 0)
assert trace.info().to_dict() == before
try:
    pfnset.open(path)
except pfnset.NotATrace as error:
    print("told:", error)
"""


def test_a_file_that_shrinks_ends_nothing(tmp_path, resident, python):
    path = tmp_path / "shrinks.etl"
    shutil.copy(resident, path)
    ran = python(SHRUNK, path)
    assert ran.returncode == 0 and ran.stdout.startswith("told:"), ran.stderr


def test_a_file_that_shrinks_while_it_is_opened_is_an_exception(tmp_path, resident):
    path = tmp_path / "shrinks.etl"
    whole = resident.read_bytes() * 40
    done = threading.Event()

    def shrink():
        while not done.is_set():
            path.write_bytes(whole)
            os.truncate(path, len(whole) // 3)

    path.write_bytes(whole)
    thread = threading.Thread(target=shrink)
    thread.start()
    try:
        for _ in range(50):
            try:
                pfnset.open(path).close()
            except pfnset.NotATrace:
                pass
    finally:
        done.set()
        thread.join()


def test_no_handler_of_signals_is_changed(python, resident):
    code = """
import signal, sys, pfnset
names = [s for s in (getattr(signal, n, None) for n in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBUS", "SIGSEGV", "SIGPIPE")) if s]
before = [signal.getsignal(s) for s in names]
pfnset.open(sys.argv[1]).resident()
assert [signal.getsignal(s) for s in names] == before
status = open("/proc/self/status").read() if sys.platform == "linux" else ""
for line in status.splitlines():
    if line.startswith("SigCgt"):
        # Python itself catches SIGINT; the standard library of Rust, without its main, catches nothing.
        assert int(line.split()[1], 16) & (1 << (signal.SIGBUS - 1)) == 0, line
"""
    ran = python(code, resident)
    assert ran.returncode == 0, ran.stderr


def test_importing_is_quick():
    code = "import sys; import pfnset; bad = {'numpy', 'pandas', 'polars', 'pyarrow', 'duckdb'} & set(sys.modules); sys.exit(str(bad) if bad else 0)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
