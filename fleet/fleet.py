"""pfnset over thousands of traces with Apache Spark: `export` makes a dataset of them, `ask` asks it.

    spark-submit fleet/fleet.py export --program /usr/bin/pfnset --cores 2 --out /data/fleet /data/traces
    spark-submit fleet/fleet.py export --program /usr/bin/pfnset --out s3a://bucket/fleet s3a://bucket/traces
    spark-submit fleet/fleet.py ask /data/fleet

Each trace is a task: an executor runs `pfnset export` on it. A trace's parts are named by the digest of its file and replaced as a
whole, so a task that Spark repeats, because its executor was lost, adds nothing twice. pfnset has the same path on all executors.
Paths of traces and dataset are those of a file system that all machines share, with locks, such as NFS 4. Of URLs (hdfs, s3a and
others that Spark knows) each task copies its trace to a disk of the executor, and the tables from there.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import stores

ENDINGS = (".etl", ".etl.gz", ".etlgz", ".etl.zst", ".zip", ".cab")
FINE, BROKEN = 0, 3
# What pfnset prints of each trace begins with its name in the dataset.
ID = re.compile(r"^(t[0-9a-f]{20})  ", re.M)


def traces(spark, paths, staged):
    """Path or URL of each trace in files, folders and lists (@FILE: a path on each line), its size and its version."""
    for path in paths:
        if path.startswith("@"):
            with open(path[1:], encoding="utf-8") as lines:
                yield from traces(spark, [line.strip() for line in lines if line.strip()], staged)
        elif is_remote(path, staged):
            found = list(stores.store(spark, path).files(spark, path))
            if not found:
                sys.exit(f"{path}: no file is there")
            is_named = len(found) == 1 and found[0][0].rstrip("/").endswith(path.rstrip("/").rpartition("/")[2])
            yield from (one for one in sorted(found) if is_named or one[0].lower().endswith(ENDINGS))
        elif os.path.isdir(local(path)):
            for folder, folders, names in os.walk(local(path)):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(names):
                    if name.lower().endswith(ENDINGS):
                        yield os.path.join(folder, name), 0, ""
        else:
            yield local(path), 0, ""


def local(path):
    """A path that means the same on all machines: executors have another working folder."""
    return os.path.abspath(path[len("file://"):] if stores.scheme(path) == "file" else path)


def is_remote(path, staged):
    return stores.scheme(path) is not None and (staged or stores.scheme(path) != "file")


def tasks(found):
    """The files of each task: mostly one, and two where names say that a kernel and a user session were recorded side by side.
    pfnset decides whether they were."""
    by_name = {one[0].lower(): one for one in found}
    users, pairs = set(), {}
    for one in by_name.values():
        folder, slash, name = one[0].lower().replace("\\", "/").rpartition("/")
        words = list(re.finditer(r"(?<![^\W_])kernel(?![^\W_])", name))
        if words:
            user = name[:words[-1].start()] + "user" + name[words[-1].end():]
            if folder + slash + user in by_name:
                users.add(folder + slash + user)
                pairs[one[0]] = by_name[folder + slash + user]
    return [[one, pairs[one[0]]] if one[0] in pairs else [one] for name, one in sorted(by_name.items()) if name not in users]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (FINE, BROKEN):
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    return ID.findall(done.stdout), done.returncode == FINE


def exporter(program, out, flags, source, target):
    """A function for executors: exports the files of a task, and returns their first name, the traces' names in the dataset, and
    whether all could be read. What it cannot write is an error, and Spark tries again elsewhere."""

    def export(task):
        files = [one[0] for one in task]
        if source is None and target is None and len(files) == 1:
            # `--resume`: the task before may have been lost after its work was done.
            return files[0], *run([program, "export", files[0], "--out", out, "--resume", *flags])
        with tempfile.TemporaryDirectory(prefix="pfnset-") as folder:
            # pfnset sees what it would see in the folder of the traces, and names it as if it were there.
            beside = os.path.join(folder, "traces")
            os.mkdir(beside)
            for path in files:
                copy = os.path.join(beside, path.replace("\\", "/").rpartition("/")[2])
                if os.path.isabs(path):
                    os.symlink(path, copy)
                else:
                    source.get(path, copy)
            named = files[0].rpartition("/")[0] or "/"
            tables = out if target is None else os.path.join(folder, "tables")
            ids, fine = run([program, "export", beside, "--out", tables, "--name", named, "--resume", *flags])
            if target is not None:
                # A trace is there when its row in `traces` is, so this comes last; then the note that the task is done.
                names = sorted(name for name in os.listdir(tables) if not name.startswith("."))
                target.put([os.path.join(tables, name) for name in names if name != "traces"], out)
                notes = os.path.join(folder, ".pfnset")
                os.makedirs(os.path.join(notes, "done"))
                if fine:
                    with open(os.path.join(notes, "done", done_name(task, flags)), "w", encoding="utf-8") as note:
                        json.dump({"files": files, "traces": ids}, note)
                target.put([os.path.join(tables, "traces"), notes], out)
        return files[0], ids, fine

    return export


def done_name(task, flags):
    """The name of the note that a task is done: by files, their sizes and versions, and the flags."""
    return hashlib.sha256(json.dumps([task, flags]).encode()).hexdigest() + ".json"


def export(spark, program, out, paths, flags, staged=False):
    """Exports traces, one in each task; returns how many files could be read and which could not."""
    found = sorted(set(traces(spark, paths, staged)))
    todo = [[list(one) for one in task] for task in tasks(found)]
    if not todo:
        sys.exit("no traces")
    # Spark plans by `spark.task.cpus` and does not look at what a task really uses.
    cores = spark.sparkContext.getConf().get("spark.task.cpus", "1")
    if not any(flag.startswith(("-j", "--threads")) for flag in flags):
        flags = [*flags, "-j", cores]
    remote = [path for path, _, _ in found if not os.path.isabs(path)]
    source, target, skipped = stores.store(spark, remote[0]) if remote else None, None, []
    if is_remote(out, staged):
        target = stores.store(spark, out)
        target.begin(spark, out)
        notes = {url.rpartition("/")[2] for url, _, _ in target.files(spark, out.rstrip("/") + "/.pfnset/done")}
        skipped = [task for task in todo if done_name(task, flags) in notes]
        todo = [task for task in todo if task not in skipped]
    else:
        out = local(out)
    if not todo:
        return len(skipped), []
    for module in ("stores.py", os.path.basename(__file__)):
        spark.sparkContext.addPyFile(os.path.join(os.path.dirname(os.path.abspath(__file__)), module))
    done = spark.sparkContext.parallelize(todo, len(todo)).map(exporter(program, out, flags, source, target)).collect()
    check(spark, out, target, [name for _, ids, _ in done for name in ids])
    return sum(fine for _, _, fine in done) + len(skipped), [path for path, _, fine in done if not fine]


def check(spark, out, target, ids):
    """Ends with an error where traces are not in the dataset as this machine sees it: executors wrote somewhere else."""
    if target is None:
        there = {name[len("trace="):] for name in os.listdir(os.path.join(out, "traces"))} if os.path.isdir(os.path.join(out, "traces")) else set()
    else:
        files = target.files(spark, out.rstrip("/") + "/traces")
        there = {part[len("trace="):] for url, _, _ in files for part in url.split("/") if part.startswith("trace=")}
    missing = set(ids) - there
    if missing:
        sys.exit(f"{len(missing)} of {len(set(ids))} traces are not in {out} as this machine sees it: do all machines share it?")


def open_tables(spark, dataset, names=("traces", "resident", "processes")):
    """Views of the dataset's tables; of a trace with several snapshots they have the last whole one."""
    for name in names:
        # Traces can have other tags than others.
        table = spark.read.option("mergeSchema", str(name == "traces").lower()).parquet(dataset.rstrip("/") + "/" + name)
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
    exporting.add_argument("--out", required=True, help="folder of the dataset, or its URL")
    exporting.add_argument("--cores", type=int, help="cores of a task: spark.task.cpus, and the threads of pfnset")
    exporting.add_argument("--tag", action="append", default=[], metavar="KEY=VALUE", help="a column tag_KEY of traces")
    exporting.add_argument("--stage", action="store_true", help="treat file:// as other URLs: copy through the executor's disk")
    exporting.add_argument("--flag", action="append", default=[], help="a further flag of pfnset export, as in --flag=--pages")
    exporting.add_argument("paths", nargs="+", help="traces, folders, URLs, @FILE with a path on each line")
    commands.add_parser("ask").add_argument("dataset")
    arguments = parser.parse_args()

    builder = SparkSession.builder.appName("pfnset")
    if arguments.command == "export" and arguments.cores:
        builder = builder.config("spark.task.cpus", str(arguments.cores))
    spark = builder.getOrCreate()
    if arguments.command == "export":
        flags = [*arguments.flag, *(text for tag in arguments.tag for text in ("--tag", tag))]
        fine, broken = export(spark, arguments.program, arguments.out, arguments.paths, flags, arguments.stage)
        print(f"{fine} traces exported, {len(broken)} could not be read")
        print("".join(f"  {path}\n" for path in broken), end="")
        sys.exit(BROKEN if broken else FINE)
    open_tables(spark, arguments.dataset)
    for question, sql in QUESTIONS.items():
        print(question)
        spark.sql(sql).show(truncate=False)


if __name__ == "__main__":
    main()
