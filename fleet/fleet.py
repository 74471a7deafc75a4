"""pfnset over thousands of traces with Apache Spark: `export` makes a dataset of them, `ask` asks it.

    spark-submit fleet/fleet.py export --program /usr/bin/pfnset --cores 2 --out /data/fleet /data/traces
    spark-submit fleet/fleet.py export --program /usr/bin/pfnset --out s3a://bucket/fleet s3a://bucket/traces
    spark-submit fleet/fleet.py ask /data/fleet

Each trace is a task (a pair of kernel and user session one): an executor runs `pfnset export` on it. A trace's parts are named by the digest of its file and replaced as a
whole, so a task that Spark repeats, because its executor was lost, adds nothing twice. pfnset has the same path on all executors.
Paths of traces and dataset are those of a file system that all machines share, with locks, such as NFS 4. Of URLs (hdfs, s3a and
others that Spark knows) each task copies its trace to a disk of the executor, and the tables from there.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import stores
from visible import MOST, lines, table, visible

# What `pfnset export` takes for a trace in a folder.
ENDINGS = (".etl", ".etlgz", ".gz", ".zip", ".zst", ".cab")
FINE, BROKEN = 0, 3
# What became of a task: all well; exported, but `--strict` doubts numbers; with a trace that could not be read.
DONE, DOUBTFUL, UNREAD = "done", "doubtful", "unread"
# What pfnset says of traces that could not be read. With `--strict`, code 3 is also that of traces that were exported, with doubts.
NOT_READ = re.compile(r"^pfnset: warning: (?:[\d,]+ of [\d,]+ traces? could not be read; |cannot read )", re.M)
# What pfnset prints of each trace begins with its name in the dataset. The rest of a long line can be on the next one.
ID = re.compile(r"^(t[0-9a-f]{20})(?:  |$)", re.M)


def traces(spark, paths, staged):
    """Path or URL of each trace in files, folders and lists (@FILE: a path on each line), its size and its version."""
    for path in paths:
        if path.startswith("@"):
            with open(path[1:], encoding="utf-8") as lines:
                yield from traces(spark, [line.strip() for line in lines if line.strip()], staged)
        elif is_remote(path, staged):
            found = sorted(stores.store(spark, path).files(spark, path))
            if not found:
                sys.exit(f"{visible(path)}: no file is there")
            yield from some(path, (one for one in found if is_trace_of(one[0], path)))
        elif os.path.isdir(local(path)):
            yield from map(with_version, some(path, below(local(path))))
        else:
            yield with_version(local(path))


def with_version(path):
    """A local file, its size and the time of its last change, as far as this machine sees it."""
    try:
        status = os.stat(path)
        return path, status.st_size, str(status.st_mtime_ns)
    except OSError:
        return path, 0, ""


def some(path, found):
    found = list(found)
    return found or sys.exit(f"{visible(path)}: the folder holds no trace")


def is_trace(name):
    return os.path.splitext(name)[1].lower() in ENDINGS


def is_trace_of(url, named):
    """True for the file that was named itself, and for a trace below that name, but not in a hidden folder."""
    path, above = stores.path_of(url), stores.path_of(named).rstrip("/")
    *folders, name = path[len(above):].strip("/").split("/")
    return path == above or is_trace(name) and not any(folder.startswith(".") for folder in folders)


# Links in folders that were not followed and may have been traces: with them the job does not end as one that read all.
left_out = []


def below(folder):
    """The traces in a folder and below. Links are not followed, as in `pfnset export`; one that leads out of the folder, or to nothing, is
    named. A folder that cannot be listed ends the job: its traces would be missing."""
    whole = os.path.realpath(folder)

    def walk(here):
        for entry in sorted(os.scandir(here), key=lambda entry: entry.name):
            if entry.is_symlink():
                leads_out = os.path.commonpath([whole, os.path.realpath(entry.path)]) != whole
                if not os.path.exists(entry.path):
                    why = "a link to nothing" if is_trace(entry.name) else None
                else:
                    why = "a link out of the folder is not followed: name its target"
                    why = why if leads_out and (entry.is_dir() or is_trace(entry.name)) else None
                if why:
                    print(f"{visible(entry.path)}: {why}", file=sys.stderr)
                    left_out.append(entry.path)
            elif entry.is_dir():
                if not entry.name.startswith("."):
                    yield from walk(entry.path)
            elif is_trace(entry.name) and entry.is_file():
                yield entry.path

    return walk(folder)


def local(path):
    """A path that means the same on all machines: executors have another working folder."""
    return os.path.abspath(path[len("file://"):] if stores.scheme(path) == "file" else path)


def is_remote(path, staged):
    return stores.scheme(path) is not None and (staged or stores.scheme(path) != "file")


def folder_and_name(path):
    """A path up to its last separator, and the name behind it."""
    at = max(path.rfind("/"), path.rfind("\\") if os.path.isabs(path) else -1) + 1
    return path[:at], path[at:]


def tasks(found):
    """The files of each task: mostly one, and two where names say that a kernel and a user session were recorded side by side.
    pfnset decides whether they were. Each file is in one task; names choose in their order, as in `pfnset export`."""
    found = sorted(found)
    # Several, where capital letters tell files apart.
    by_name = {}
    for one in found:
        folder, name = folder_and_name(one[0])
        by_name.setdefault((folder, name.lower()), []).append(one)
    taken, pairs = set(), {}
    for one in found:
        folder, name = folder_and_name(one[0])
        words = list(re.finditer(r"(?<![^\W_])kernel(?![^\W_])", name.lower()))
        if one[0] in taken or not words or not is_trace(name):
            continue
        user = name.lower()[:words[-1].start()] + "user" + name.lower()[words[-1].end():]
        free = [other for other in by_name.get((folder, user), []) if other[0] not in taken and other[0] not in pairs]
        if free:
            pairs[one[0]] = free[0]
            taken.add(free[0][0])
    return [[one, pairs[one[0]]] if one[0] in pairs else [one] for one in found if one[0] not in taken]


def run(command):
    """Runs pfnset; returns the names of traces in the dataset, and what became of them."""
    # Lines as long as a file's.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False, env=environment)
    ids = ID.findall(done.stdout)
    if done.returncode not in (FINE, BROKEN) or not ids:
        raise RuntimeError(lines(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip() or 'it names no trace'}"))
    if done.returncode == FINE:
        return ids, DONE
    return ids, DOUBTFUL if "--strict" in command and not NOT_READ.search(done.stderr) else UNREAD


def version(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def split_flags(flags):
    """Flags without effect on the tables, how many threads and what is printed, and the others."""
    threads, others, flags = [], [], iter(flags)
    for flag in flags:
        if flag in ("-q", "--quiet"):
            continue  # the job reads what is printed
        if flag in ("-j", "--threads"):
            threads = ["-j", next(flags, "")]
        elif flag.startswith(("-j", "--threads=")):
            threads = [flag]
        else:
            others.append(flag)
    return threads, others


def exporter(program, out, flags, threads, sources, target):
    """A function for executors: exports the files of a task, and returns their first name, the traces' names in the dataset, and
    what became of them. What it cannot write is an error, and Spark tries again elsewhere. `sources`: a store for each
    scheme."""

    def here(path, folder):
        """The path of a file on this machine, below this folder."""
        folder = os.path.join(folder, "traces")
        os.makedirs(folder, exist_ok=True)
        copy = os.path.join(folder, folder_and_name(path)[1])
        if os.path.isabs(path):
            # A link to the file itself: pfnset follows none that leads out of a folder.
            try:
                os.link(path, copy)
            except OSError:
                shutil.copyfile(path, copy)
        else:
            sources[stores.scheme_of(path)].get(path, copy)
        return copy

    def export(task):
        files = [one[0] for one in task]
        with tempfile.TemporaryDirectory(prefix="pfnset-") as folder:
            if len(files) > 1:
                # pfnset sees what it would see in the folder of the traces, and names it as if it were there.
                for path in files:
                    here(path, folder)
                source, named = os.path.join(folder, "traces"), ["--name", folder_and_name(files[0])[0]]
            elif os.path.isabs(files[0]):
                source, named = files[0], []
            else:
                source, named = here(files[0], folder), ["--name", files[0]]
            tables = out if target is None else os.path.join(folder, "tables")
            # `--resume`: the task before may have been lost after its work was done.
            ids, became = run([program, "export", source, "--out", tables, *named, "--resume", *flags, *threads])
            if target is not None:
                # An archive can hold a recording, and one of its files once more.
                ids = sorted(set(ids) - counted_elsewhere(tables))
                # A trace is there when its row in `traces` is, so this comes last; then the note that the task is done.
                names = sorted(name for name in os.listdir(tables) if not name.startswith("."))
                target.put([os.path.join(tables, name) for name in names if name != "traces"], out)
                notes = os.path.join(folder, ".pfnset")
                os.makedirs(os.path.join(notes, "done"))
                if became == DONE:
                    with open(os.path.join(notes, "done", done_name(task, version(program), flags)), "w", encoding="utf-8") as note:
                        json.dump({"files": files, "traces": ids}, note)
                target.put([os.path.join(tables, "traces"), notes], out)
        return files[0], ids, became

    return export


def done_name(task, version, flags):
    """The name of the note that a task is done: by files, their sizes and versions, pfnset's version, and the flags that matter."""
    return hashlib.sha256(json.dumps([task, version, flags]).encode()).hexdigest() + ".json"


def export(spark, program, out, paths, flags, staged=False):
    """Exports traces, those of a task at a time; returns the number of tasks that are done, and the first file of each other task: those
    that `--strict` doubts, and those with traces that could not be read."""
    found = sorted(set(traces(spark, paths, staged)))
    todo = [[list(one) for one in task] for task in tasks(found)]
    if not todo:
        sys.exit("no traces")
    threads, flags = split_flags(flags)
    # Spark plans by `spark.task.cpus` and does not look at what a task really uses.
    threads = threads or ["-j", spark.sparkContext.getConf().get("spark.task.cpus", "1")]
    remote = {stores.scheme_of(path): path for path, _, _ in found if not os.path.isabs(path)}
    sources = {scheme: stores.store(spark, path) for scheme, path in remote.items()}
    target, skipped = None, 0
    send(spark)
    if is_remote(out, staged):
        target = stores.store(spark, out)
        target.begin(spark, out)
        notes = {url.rpartition("/")[2] for url, _, _ in target.files(spark, out.rstrip("/") + "/.pfnset/done")}
        # Executors have the program; this machine may not.
        [by] = spark.sparkContext.parallelize([program], 1).map(version).collect() if notes else [""]
        is_done = [done_name(task, by, flags) in notes for task in todo]
        skipped = sum(is_done)
        todo = [task for task, skip in zip(todo, is_done) if not skip]
    else:
        out = local(out)
    if not todo:
        return skipped, [], []
    work = exporter(program, out, flags, threads, sources, target)
    done = spark.sparkContext.parallelize(todo, len(todo)).map(work).collect()
    check(spark, out, target, [name for _, ids, _ in done for name in ids])
    doubtful, unread = ([path for path, _, became in done if became == what] for what in (DOUBTFUL, UNREAD))
    return len(done) - len(doubtful) - len(unread) + skipped, doubtful, unread


def send(spark):
    """Executors import these modules."""
    for module in ("visible.py", "stores.py", os.path.basename(__file__)):
        spark.sparkContext.addPyFile(os.path.join(os.path.dirname(os.path.abspath(__file__)), module))


def in_folder(dataset):
    """Names of the traces in a dataset that is a folder."""
    with contextlib.suppress(FileNotFoundError):
        return {name[len("trace="):] for name in os.listdir(os.path.join(dataset, "traces"))}
    return set()


def counted_elsewhere(dataset):
    """Names that files of the recordings in a dataset have as traces of their own. Where such a file also came alone, pfnset names it, and it
    is not there: it counts once, as a part of the recording, whichever of them came first."""
    found = set()
    for trace in in_folder(dataset):
        with contextlib.suppress(FileNotFoundError, ValueError), open(os.path.join(dataset, ".pfnset", "traces", trace + ".json"), encoding="utf-8") as state:
            found.update(set(json.load(state).get("files", [])) - {trace})
    return found


def check(spark, out, target, ids):
    """Ends with an error where traces are not in the dataset as this machine sees it: executors wrote somewhere else."""
    if target is None:
        there = in_folder(out)
        if not there.issuperset(ids):
            there |= counted_elsewhere(out)
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
    "Memory on the list Active by build and category: mean MiB of a trace, and growth from the oldest build to the newest": """
        WITH sums AS (
            SELECT os_build, category, sum(bytes) / 1048576 AS mib
            FROM resident JOIN traces USING (trace) WHERE list = 'Active' GROUP BY os_build, category),
        builds AS (
            SELECT os_build, count(DISTINCT trace) AS traces FROM resident JOIN traces USING (trace) GROUP BY os_build),
        categories AS (SELECT DISTINCT category FROM sums),
        -- A trace or a build without a category has 0 of it.
        by_build AS (
            SELECT categories.category, builds.os_build, coalesce(mib, 0) / builds.traces AS mib
            FROM categories CROSS JOIN builds
            LEFT JOIN sums ON sums.category = categories.category AND sums.os_build = builds.os_build)
        SELECT category, round(min_by(mib, os_build), 2) AS oldest, round(max_by(mib, os_build), 2) AS newest,
               CASE WHEN count(os_build) > 1 THEN round(max_by(mib, os_build) - min_by(mib, os_build), 2) END AS growth
        FROM by_build GROUP BY category ORDER BY abs(growth) DESC, newest DESC, category""",
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
        FROM by_trace GROUP BY process_name ORDER BY p95_mib DESC, process_name""",
    "Traces that could not be read": "SELECT trace_file, error FROM traces WHERE error IS NOT NULL ORDER BY trace_file",
}


def answer(spark, sql):
    """The first rows of what a question is answered with, and what has to be said of them, for people."""
    found = spark.sql(sql)
    rows = found.take(MOST + 1)
    # How many there are costs as much as the rows themselves.
    shown = table(found.columns, rows, found.count() if len(rows) > MOST else len(rows))
    if "growth" not in found.columns or not rows or rows[0][found.columns.index("growth")] is not None:
        return shown
    newest = rows[0][found.columns.index("newest")]
    builds = "No trace tells its build" if newest is None else "There is only one build"
    return f"{shown}\n{builds}: nothing to compare, and no growth is known"


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
        left_out.clear()
        flags = [*arguments.flag, *(text for tag in arguments.tag for text in ("--tag", tag))]
        done, doubtful, unread = export(spark, arguments.program, arguments.out, arguments.paths, flags, arguments.stage)
        doubts = f"{len(doubtful)} with doubts (exported all the same), " if doubtful else ""
        print(f"{done} tasks done, {doubts}{len(unread)} with traces that could not be read")
        print("".join(f"  doubtful: {visible(path)}\n" for path in doubtful), end="")
        print("".join(f"  {visible(path)}\n" for path in unread), end="")
        sys.exit(BROKEN if doubtful or unread or left_out else FINE)
    open_tables(spark, arguments.dataset)
    for question, sql in QUESTIONS.items():
        print(question)
        print(answer(spark, sql) + "\n")


if __name__ == "__main__":
    main()
