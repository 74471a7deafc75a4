"""pfnset over thousands of traces with Apache Spark: `export` makes a dataset of them, `ask` asks it.

    spark-submit fleet/fleet.py export --program /usr/bin/pfnset --out /data/fleet /data/traces
    spark-submit fleet/fleet.py ask /data/fleet

Each trace is a task: an executor runs `pfnset export` on it, beside the data. A trace's parts are named by the digest of its
file and replaced as a whole, so a task that Spark repeats, because its executor was lost, adds nothing twice. The program, the
traces and the dataset's folder must have the same paths on all executors (a shared file system with locks, such as NFS 4).
"""

import argparse
import os
import subprocess
import sys

ENDINGS = (".etl", ".etl.gz", ".etl.zst", ".zip", ".cab")
FINE, BROKEN = 0, 3


def traces(paths):
    """The traces in files, folders and lists (@FILE: a path on each line)."""
    for path in paths:
        if path.startswith("@"):
            with open(path[1:], encoding="utf-8") as lines:
                yield from traces(line.strip() for line in lines if line.strip())
        elif os.path.isdir(path):
            for folder, _, names in sorted(os.walk(path)):
                yield from (os.path.join(folder, name) for name in sorted(names) if name.lower().endswith(ENDINGS))
        else:
            yield path


def exporter(program, out, flags):
    """A function for executors: exports one trace. What it cannot write is an error, and Spark tries again elsewhere."""

    def export(path):
        # `--resume`: the task before may have been lost after its work was done.
        command = [program, "export", path, "--out", out, "--resume", "--quiet", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (FINE, BROKEN):
            raise RuntimeError(f"{path}: exit code {done.returncode}: {done.stderr.strip()}")
        return path, done.returncode == FINE

    return export


def export(spark, program, out, paths, flags):
    """Exports traces, one in each task; returns how many could be read and which could not."""
    paths = sorted(set(traces(paths)))
    if not paths:
        sys.exit("no traces")
    done = spark.sparkContext.parallelize(paths, len(paths)).map(exporter(program, out, flags)).collect()
    return sum(fine for _, fine in done), [path for path, fine in done if not fine]


def open_tables(spark, dataset, names=("traces", "resident", "processes")):
    """Views of the dataset's tables; of a trace with several snapshots they have the last whole one."""
    for name in names:
        table = spark.read.parquet(os.path.join(dataset, name))
        (table.where("is_last") if "is_last" in table.columns else table).createOrReplaceTempView(name)


QUESTIONS = {
    "Memory by build and category: mean MiB of a trace, and growth from the oldest build to the newest": """
        WITH by_trace AS (
            SELECT os_build, trace, category, sum(bytes) / 1048576 AS mib
            FROM resident JOIN traces USING (trace) WHERE list = 'Active' GROUP BY os_build, trace, category),
        by_build AS (SELECT category, os_build, avg(mib) AS mib FROM by_trace GROUP BY category, os_build)
        SELECT category, round(min_by(mib, os_build), 2) AS oldest, round(max_by(mib, os_build), 2) AS newest,
               round(max_by(mib, os_build) - min_by(mib, os_build), 2) AS growth
        FROM by_build GROUP BY category ORDER BY abs(growth) DESC, category LIMIT 10""",
    "Outliers: machines whose processes own more than one and a half times the fleet's median": """
        WITH by_machine AS (
            SELECT coalesce(machine, trace) AS machine, sum(bytes) / count(DISTINCT trace) / 1048576 AS mib
            FROM resident JOIN traces USING (trace) WHERE instance IS NOT NULL GROUP BY coalesce(machine, trace)),
        middle AS (SELECT percentile(mib, 0.5) AS median FROM by_machine)
        SELECT machine, round(mib, 2) AS mib, round(median, 2) AS median FROM by_machine CROSS JOIN middle
        WHERE mib > 1.5 * median ORDER BY mib DESC""",
    "95th percentile of a program's private memory over all traces": """
        WITH by_trace AS (
            SELECT process_name, trace, sum(bytes) / 1048576 AS mib
            FROM resident JOIN processes USING (trace, instance) WHERE use = 'ProcessPrivate'
            GROUP BY process_name, trace)
        SELECT process_name, count(*) AS traces, round(percentile(mib, 0.95), 2) AS p95_mib
        FROM by_trace GROUP BY process_name ORDER BY p95_mib DESC, process_name LIMIT 10""",
    "Traces that could not be read": "SELECT trace_file, error FROM traces WHERE error IS NOT NULL ORDER BY trace_file",
}


def main():
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    exporting = commands.add_parser("export")
    exporting.add_argument("--program", default="pfnset", help="pfnset on the executors")
    exporting.add_argument("--out", required=True, help="folder of the dataset")
    exporting.add_argument("--flag", action="append", default=[], help="a further flag of pfnset export, as in --flag=--pages")
    exporting.add_argument("paths", nargs="+", help="traces, folders, @FILE with a path on each line")
    commands.add_parser("ask").add_argument("dataset")
    arguments = parser.parse_args()

    spark = SparkSession.builder.appName("pfnset").getOrCreate()
    if arguments.command == "export":
        fine, broken = export(spark, arguments.program, arguments.out, arguments.paths, arguments.flag)
        print(f"{fine} traces exported, {len(broken)} could not be read")
        print("".join(f"  {path}\n" for path in broken), end="")
        sys.exit(BROKEN if broken else FINE)
    open_tables(spark, arguments.dataset)
    for question, sql in QUESTIONS.items():
        print(question)
        spark.sql(sql).show(truncate=False)


if __name__ == "__main__":
    main()
