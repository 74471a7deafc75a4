"""The job on a real local cluster of two workers: twenty traces, two of them broken, one executor killed midway. Every good
trace must be in the dataset exactly once.

test.py PROGRAM FOLDER: FOLDER holds `traces` with twenty generated traces. `.ci/fleet` runs it.
"""

import os
import signal
import sys
import threading
import time

import fleet

PROGRAM, FOLDER = (os.path.abspath(path) for path in sys.argv[1:3])
TRACES, DATASET = os.path.join(FOLDER, "traces"), os.path.join(FOLDER, "dataset")
BROKEN = ("machine-03.etl", "machine-11.etl")


def break_two():
    """One is a text, one ends within its header."""
    with open(os.path.join(TRACES, BROKEN[0]), "w", encoding="utf-8") as trace:
        trace.write("This is a letter and no trace.\n" * 1000)
    os.truncate(os.path.join(TRACES, BROKEN[1]), 100)


def executors():
    """Processes of executors below this one."""
    parents, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                parents[int(pid)] = int(stat.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as line:
                names[int(pid)] = line.read()
        except OSError:
            pass  # it has ended

    def is_ours(pid):
        while pid > 1:
            if pid == os.getpid():
                return True
            pid = parents.get(pid, 0)
        return False

    return [pid for pid, name in names.items() if "CoarseGrainedExecutorBackend" in name and is_ours(pid)]


def done():
    """Traces that are in the dataset."""
    try:
        return len(os.listdir(os.path.join(DATASET, "traces")))
    except OSError:
        return 0


def kill_one_midway(killed):
    """Kills an executor when a few traces are done and most are not."""
    deadline = time.monotonic() + 120
    while done() < 4 and time.monotonic() < deadline:
        time.sleep(0.005)
    found = executors()
    if found:
        os.kill(found[0], signal.SIGKILL)
        killed.append((len(found), done()))


def main():
    from pyspark.sql import SparkSession

    break_two()
    settings = {"spark.executor.memory": "512m", "spark.ui.enabled": "false", "spark.task.maxFailures": "8",
                "spark.executorEnv.PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}
    builder = SparkSession.builder.master("local-cluster[2,1,512]").appName("pfnset test")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    killed = []
    killer = threading.Thread(target=kill_one_midway, args=(killed,))
    killer.start()
    # A thread each, so that the work lasts.
    fine, doubtful, broken = fleet.export(spark, PROGRAM, DATASET, [TRACES], ["-j", "1", "--pages"])
    killer.join()
    assert killed and killed[0][0] == 2 and 4 <= killed[0][1] < 20, f"an executor of two was killed midway: {killed}"
    assert (fine, doubtful, [os.path.basename(path) for path in broken]) == (18, [], list(BROKEN)), (fine, doubtful, broken)

    tables = ("traces", "resident", "processes", "pages")
    fleet.open_tables(spark, DATASET, tables)
    rows = spark.sql("SELECT trace, trace_file, error, memory_pages FROM traces").collect()
    files = sorted(os.path.basename(row.trace_file) for row in rows)
    assert files == sorted(os.listdir(TRACES)), files  # each exactly once
    assert sorted(os.path.basename(row.trace_file) for row in rows if row.error) == sorted(BROKEN)
    good = {row.trace for row in rows if not row.error}
    for table in ("resident", "pages"):
        counts = "sum(pages)" if table == "resident" else "count(*)"
        found = {row.trace: row.n for row in spark.sql(f"SELECT trace, {counts} AS n FROM {table} GROUP BY trace").collect()}
        expected = {row.trace: 40_000 if "HOST" and int(row.trace_file[-6:-4]) % 5 == 4 else 20_000 for row in rows if not row.error}
        assert found == expected, (table, found, expected)
    for table in os.listdir(DATASET):
        for partition in [] if table.startswith(".") else os.listdir(os.path.join(DATASET, table)):
            parts = os.listdir(os.path.join(DATASET, table, partition))
            assert parts == ["part-0.parquet"] and (partition[6:] in good or table == "traces"), (table, partition, parts)
    assert not os.listdir(os.path.join(DATASET, ".pfnset", "work")), "nothing is left"
    for question, sql in fleet.QUESTIONS.items():
        fleet.answer(spark, sql)
        answer = spark.sql(sql).collect()
        assert answer, question
        print(question, *(tuple(row) for row in answer[:3]), sep="\n  ")
    growth_of_new_categories(spark)
    spark.stop()
    print(f"20 traces on 2 workers, an executor killed after {killed[0][1]}: 18 in the dataset exactly once, 2 as errors")


def growth_of_new_categories(spark):
    """A build, or a trace, without a category has 0 of it."""
    mib = 1 << 20
    traces = [("a", 1), ("b", 1), ("c", 2)]
    rows = [("a", "X", "Active", 4 * mib), ("b", "Y", "Active", 2 * mib), ("c", "X", "Active", 6 * mib),
            ("c", "New", "Active", 3 * mib), ("c", "Y", "Standby", 99 * mib)]
    spark.createDataFrame(traces, ["trace", "os_build"]).createOrReplaceTempView("traces")
    spark.createDataFrame(rows, ["trace", "category", "list", "bytes"]).createOrReplaceTempView("resident")
    sql = next(sql for question, sql in fleet.QUESTIONS.items() if "growth" in question)
    found = [tuple(row) for row in spark.sql(sql).collect()]
    assert found == [("X", 2.0, 6.0, 4.0), ("New", 0.0, 3.0, 3.0), ("Y", 1.0, 0.0, -1.0)], found
    spark.sql("SELECT trace, 1 AS os_build FROM traces").createOrReplaceTempView("traces")
    shown = fleet.answer(spark, sql)
    assert "|X       |3.33  |3.33  |NULL  |" in shown and shown.endswith("There is only one build: nothing to compare, and no growth is known"), shown


main()
