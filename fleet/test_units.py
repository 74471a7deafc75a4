"""What of the job needs no Spark: test_units.py. `.ci/run` runs it wherever Python is."""

import contextlib
import io
import json
import os
import re
import sqlite3
import stat
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import fleet  # noqa: E402
import stores  # noqa: E402
import visible  # noqa: E402

# A program with the flags of pfnset that the job uses: it writes what it was told into `calls`, and a row of `traces`.
PROGRAM = """#!{python}
import hashlib, json, os, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print(open({folder!r} + "/version").read()))
_, source, _, out, *flags = sys.argv[1:]
inside = sorted(os.listdir(source)) if os.path.isdir(source) else []
if any(os.path.islink(os.path.join(source, name)) for name in inside):
    sys.exit("a link out of the folder is not followed")
with open({folder!r} + "/calls", "a") as calls:
    print(json.dumps([source, inside, flags, os.environ.get("COLUMNS")]), file=calls)
name = flags[flags.index("--name") + 1] if "--name" in flags else source
trace = "t" + hashlib.sha256(name.encode()).hexdigest()[:20]
if "silent" in name:
    sys.exit(0)
# A file of a recording that is there is not there alone.
there = "t" + "0" * 20 if "part" in name else trace
os.makedirs(out + "/traces/trace=" + there, exist_ok=True)
open(out + "/traces/trace=" + there + "/part-0.parquet", "w").close()
os.makedirs(out + "/.pfnset/traces", exist_ok=True)
with open(out + "/.pfnset/traces/" + there + ".json", "w") as state:
    json.dump(dict(files=[trace]), state)
print(trace if "long" in name else trace + "  " + name + ": 9 tables")
print("    " + name)
if "broken" in name:
    print("pfnset: warning: 1 of 1 trace could not be read; the column error of traces says why", file=sys.stderr)
if "lossy" in name:
    print("pfnset: warning: " + name + ": 1 of 1 trace could not be read; DATA WAS LOST", file=sys.stderr)
sys.exit(3 if "broken" in name or "lossy" in name and "--strict" in flags else 0)
"""


class Folder:
    """A store whose URLs are files below a folder."""

    def __init__(self, folder):
        self.folder = folder

    def _path(self, url):
        return os.path.join(self.folder, stores.scheme_of(url)) + stores.path_of(url)

    def files(self, _spark, url):
        for folder, _, names in os.walk(self._path(url)):
            for name in names:
                path = os.path.join(folder, name)
                yield stores.scheme_of(url) + "://host" + path[len(os.path.join(self.folder, stores.scheme_of(url))):], os.path.getsize(path), "1"
        if os.path.isfile(self._path(url)):
            yield url, os.path.getsize(self._path(url)), "1"

    def begin(self, _spark, url):
        os.makedirs(self._path(url), exist_ok=True)

    def get(self, url, path):
        with open(self._path(url), "rb") as source, open(path, "wb") as copy:
            copy.write(source.read())

    def put(self, paths, url):
        for path in paths:
            for folder, _, names in os.walk(path):
                to = os.path.join(self._path(url), os.path.relpath(folder, os.path.dirname(path)))
                os.makedirs(to, exist_ok=True)
                for name in names:
                    os.replace(os.path.join(folder, name), os.path.join(to, name))


class Spark:
    """As much of Spark as the job uses, in this process."""

    def __init__(self, settings=()):
        self.settings, self.sparkContext, self.items = dict(settings), self, []

    def getConf(self):
        return self

    def get(self, name, default=None):
        return self.settings.get(name, default)

    def getAll(self):
        return list(self.settings.items())

    def addPyFile(self, path):
        assert os.path.isfile(path), path

    def parallelize(self, items, _slices):
        self.items = items
        return self

    def map(self, function):
        # A task gets to executors as data.
        self.items = [function(json.loads(json.dumps(item))) for item in self.items]
        return self

    def collect(self):
        return self.items


class Tasks(unittest.TestCase):
    def tasks(self, *names):
        return ["+".join(one[0] for one in task) for task in fleet.tasks([(name, 1, "") for name in names])]

    def test_a_pair_is_one_task(self):
        self.assertEqual(self.tasks("/d/PC7_User.etl", "/d/PC7_Kernel.etl", "/d/x.etl"), ["/d/PC7_Kernel.etl+/d/PC7_User.etl", "/d/x.etl"])
        self.assertEqual(self.tasks("s3a://b/kernel.etl.gz", "s3a://b/user.etl.gz"), ["s3a://b/kernel.etl.gz+s3a://b/user.etl.gz"])
        for names in (["/d/kernel.etl", "/e/user.etl"], ["/d/kernels.etl", "/d/users.etl"], ["/d/kernel.bin", "/d/user.bin"]):
            self.assertEqual(self.tasks(*names), names)

    def test_names_that_differ_in_capital_letters_are_files_of_their_own(self):
        for names in (["/d/Run1/t.etl", "/d/run1/t.etl"], ["/d/T.etl", "/d/t.etl"]):
            self.assertEqual(self.tasks(*names), names)
        self.assertEqual(self.tasks("/d/Kernel.etl", "/d/kernel.etl", "/d/user.etl"), ["/d/Kernel.etl+/d/user.etl", "/d/kernel.etl"])
        self.assertEqual(self.tasks("/A/kernel.etl", "/A/user.etl", "/a/user.etl"), ["/A/kernel.etl+/A/user.etl", "/a/user.etl"])

    def test_each_file_is_in_one_task(self):
        chain = ["/d/kernel-test_kernel.etl", "/d/kernel-test_user.etl", "/d/user-test_user.etl"]
        for names in (chain, chain[::-1]):
            self.assertEqual(self.tasks(*names), ["/d/kernel-test_kernel.etl+/d/kernel-test_user.etl", "/d/user-test_user.etl"])


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def put(self, *names):
        for name in names:
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("x")


class Found(InFolder):
    def found(self, *paths):
        return [path for path, _, _ in fleet.traces(None, paths, False)]

    def test_folders_are_searched_as_pfnset_does(self):
        self.put("in/a.etl", "in/b/c.ETL", "in/b/d.etl.gz", "in/e.gz", "in/f.zst", "in/g.cab", "in/h.txt", "in/.hidden/i.etl", "other/j.zip")
        os.symlink(os.path.join(self.folder, "other"), os.path.join(self.folder, "in", "link"))
        os.symlink(os.path.join(self.folder, "in"), os.path.join(self.folder, "in", "b", "loop"))
        os.symlink("nowhere", os.path.join(self.folder, "in", "broken.etl"))
        root = os.path.join(self.folder, "in") + "/"
        os.symlink("a.etl", os.path.join(self.folder, "in", "latest.etl"))
        expected = ["a.etl", "b/c.ETL", "b/d.etl.gz", "e.gz", "f.zst", "g.cab"]
        fleet.left_out.clear()
        self.assertEqual([path[len(root):] for path in self.found(root)], expected)
        self.assertEqual([path[len(root):] for path in fleet.left_out], ["broken.etl", "link"], "named, and the job ends with 3")
        self.assertEqual(self.found(root + "h.txt"), [root + "h.txt"], "what is named is asked")
        self.put("empty/x.txt")
        with self.assertRaises(SystemExit):
            self.found(os.path.join(self.folder, "empty"))

    def test_a_folder_that_cannot_be_listed_ends_the_job(self):
        self.put("in/a.etl", "in/b/c.etl")
        real = os.scandir

        def listed(path):
            if str(path).endswith("/b"):
                raise PermissionError(13, "no", path)
            return real(path)

        with mock.patch("os.scandir", listed), self.assertRaises(PermissionError):
            self.found(os.path.join(self.folder, "in"))

    def test_urls(self):
        self.put("s3a/in/dump.bin", "s3a/in/a.etl", "s3a/in/.b/c.etl", "s3a/in/d/e.ETL.gz", "s3a/in/d/x.etl/readme", "s3a/none/x.txt")
        with mock.patch("stores.store", lambda spark, url: Folder(self.folder)):
            self.assertEqual(self.found("s3a://host/in/"), ["s3a://host/in/a.etl", "s3a://host/in/d/e.ETL.gz"])
            self.assertEqual(self.found("s3a://host/in/dump.bin"), ["s3a://host/in/dump.bin"])
            for url in ("s3a://host/none", "s3a://host/nothing"):
                with self.assertRaises(SystemExit):
                    self.found(url)
        for url, named, expected in (("file:/d/x.bin", "file:///d/x.bin", True), ("hdfs://n:8020/x.bin", "hdfs:///x.bin", True),
                                     ("s3a://b/d/dump.bin", "s3a://b/dump.bin", False), ("s3a://b/dump.bin/dump.bin", "s3a://b/dump.bin", False)):
            self.assertEqual(fleet.is_trace_of(url, named), expected, url)


class Job(InFolder):
    """The job itself, with a program that only writes down what it is told."""

    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.folder, "program")
        with open(self.program, "w", encoding="utf-8") as program:
            program.write(PROGRAM.format(python=sys.executable, folder=self.folder))
        os.chmod(self.program, os.stat(self.program).st_mode | stat.S_IXUSR)
        self.version("pfnset 1")

    def version(self, text):
        with open(os.path.join(self.folder, "version"), "w", encoding="utf-8") as version:
            version.write(text)

    def run_job(self, out, *paths, flags=(), spark=None):
        """What the job returns, and the calls of the program."""
        calls = os.path.join(self.folder, "calls")
        with contextlib.suppress(FileNotFoundError):
            os.remove(calls)
        with mock.patch("stores.store", lambda spark, url: Folder(self.folder)):
            done = fleet.export(spark or Spark(), self.program, out, paths, list(flags))
        with open(calls, "a+", encoding="utf-8") as lines:
            lines.seek(0)
            return done, [json.loads(line) for line in lines]

    def test_one_file_keeps_its_name_and_a_pair_its_folder(self):
        self.put("s3a/in/kernel.etl", "s3a/in/user.etl", "s3a/in/odd.bin", "gs/in/z.etl")
        out = os.path.join(self.folder, "out")
        done, calls = self.run_job(out, "s3a://host/in", "s3a://host/in/odd.bin", "gs://host/in", flags=["-q", "--pages"], spark=Spark({"spark.task.cpus": "3"}))
        self.assertEqual(done, (3, [], []))
        told = [(os.path.basename(source), inside, flags) for source, inside, flags, _ in calls]
        more = ["--resume", "--pages", "-j", "3"]
        self.assertEqual(told, [
            ("z.etl", [], ["--name", "gs://host/in/z.etl", *more]),
            ("traces", ["kernel.etl", "user.etl"], ["--name", "s3a://host/in/", *more]),
            ("odd.bin", [], ["--name", "s3a://host/in/odd.bin", *more])])
        self.assertEqual(len(os.listdir(os.path.join(out, "traces"))), 3)

    def test_a_local_file_is_read_where_it_lies(self):
        self.put("in/broken.etl", "in/kernel.etl", "in/user.etl")
        path = os.path.join(self.folder, "in")
        for _ in range(2):
            done, calls = self.run_job("s3a://host/out", path)
            self.assertEqual(done, (1, [], [os.path.join(path, "broken.etl")]))
            self.assertEqual(calls[0][:3], [os.path.join(path, "broken.etl"), [], ["--resume", "-j", "1"]])
        self.assertEqual(len(calls), 1, "the pair has a note")
        self.assertEqual(len(os.listdir(os.path.join(self.folder, "s3a/out/traces"))), 2)
        # Another content by the same name.
        with open(os.path.join(path, "kernel.etl"), "a", encoding="utf-8") as file:
            file.write("more")
        self.assertEqual(len(self.run_job("s3a://host/out", path)[1]), 2)

    def test_notes_hold_for_a_version_and_for_flags_that_matter(self):
        self.put("s3a/in/a.etl")

        def runs(*flags, cores="1"):
            (fine, _, _), calls = self.run_job("s3a://host/out", "s3a://host/in", flags=flags, spark=Spark({"spark.task.cpus": cores}))
            self.assertEqual(fine, 1)
            return len(calls)

        self.assertEqual([runs(), runs()], [1, 0])
        self.assertEqual([runs("-j", "4"), runs("-j4", "-q"), runs("--threads=2"), runs("--threads", "2"), runs(cores="8")], [0] * 5)
        self.assertEqual([runs("--pages"), runs("--pages", "-j", "2")], [1, 0])
        self.version("pfnset 2")
        self.assertEqual([runs(), runs()], [1, 0])

    def test_cores_and_tags_of_the_command_line(self):
        """Cores of a task are Spark's setting and pfnset's threads."""
        self.put("in/a.etl", "in/b.etl")
        settings = {}

        class Builder:
            def appName(self, _name):
                return self

            def config(self, name, value):
                settings[name] = value
                return self

            def getOrCreate(self):
                return Spark(settings)

        modules = {"pyspark": types.ModuleType("pyspark"), "pyspark.sql": types.SimpleNamespace(SparkSession=types.SimpleNamespace(builder=Builder()))}
        line = ["fleet.py", "export", "--program", self.program, "--out", os.path.join(self.folder, "out"), "--cores", "3",
                "--tag", "build=7", "--flag=--pages", os.path.join(self.folder, "in")]
        with mock.patch.dict(sys.modules, modules), mock.patch.object(sys, "argv", line), contextlib.redirect_stdout(io.StringIO()) as out:
            with self.assertRaises(SystemExit) as end:
                fleet.main()
        self.assertEqual((end.exception.code, out.getvalue()), (0, "2 tasks done, 0 with traces that could not be read\n"))
        self.assertEqual(settings, {"spark.task.cpus": "3"})
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as calls:
            flags = [json.loads(line)[2] for line in calls]
        self.assertEqual(flags, [["--resume", "--pages", "--tag", "build=7", "-j", "3"]] * 2)

    def test_doubts_of_strict_are_apart_from_what_could_not_be_read(self):
        self.put("in/broken.etl", "in/fine.etl", "in/lossy.etl")
        out, path = os.path.join(self.folder, "out"), os.path.join(self.folder, "in")
        broken, lossy = (os.path.join(path, name) for name in ("broken.etl", "lossy.etl"))
        self.assertEqual(self.run_job(out, path)[0], (2, [], [broken]))
        self.assertEqual(self.run_job(out, path, flags=["--strict"])[0], (1, [lossy], [broken]))
        session = types.SimpleNamespace(builder=types.SimpleNamespace(appName=lambda _: types.SimpleNamespace(getOrCreate=Spark)))
        modules = {"pyspark": types.ModuleType("pyspark"), "pyspark.sql": types.SimpleNamespace(SparkSession=session)}
        line = ["fleet.py", "export", "--program", self.program, "--out", out, "--flag=--strict", path]
        with mock.patch.dict(sys.modules, modules), mock.patch.object(sys, "argv", line), contextlib.redirect_stdout(io.StringIO()) as text:
            with self.assertRaises(SystemExit) as end:
                fleet.main()
        self.assertEqual((end.exception.code, text.getvalue().split("\n")), (3, [
            "1 tasks done, 1 with doubts (exported all the same), 1 with traces that could not be read",
            f"  doubtful: {lossy}", f"  {broken}", ""]))

    def test_names_are_found_in_wrapped_lines(self):
        self.put("in/long.etl", "in/silent.etl")
        with mock.patch.dict(os.environ, COLUMNS="40"):
            done, calls = self.run_job(os.path.join(self.folder, "out"), os.path.join(self.folder, "in/long.etl"))
        self.assertEqual((done, calls[0][3]), ((1, [], []), None))
        with self.assertRaisesRegex(RuntimeError, "it names no trace"):
            self.run_job(os.path.join(self.folder, "out"), os.path.join(self.folder, "in/silent.etl"))

    def test_a_dataset_that_this_machine_does_not_see_is_an_error(self):
        with self.assertRaises(SystemExit):
            fleet.check(None, self.folder, None, ["t" + "0" * 20])

    def test_a_file_that_counts_with_its_recording_is_not_missing(self):
        self.put("in/part.etl", "in/x.etl")
        path = os.path.join(self.folder, "in")
        for out in (os.path.join(self.folder, "out"), "s3a://host/out"):
            self.assertEqual(self.run_job(out, path)[0], (2, [], []), out)
        # Of a recording that is gone nothing says that it counts there.
        out = os.path.join(self.folder, "out")
        os.remove(os.path.join(out, "traces", "trace=t" + "0" * 20, "part-0.parquet"))
        os.rmdir(os.path.join(out, "traces", "trace=t" + "0" * 20))
        part = "t" + fleet.hashlib.sha256(os.path.join(path, "part.etl").encode()).hexdigest()[:20]
        with self.assertRaises(SystemExit):
            fleet.check(None, out, None, [part])


class Stores(InFolder):
    def test_schemes_and_paths(self):
        self.assertEqual([stores.scheme(path) for path in ("s3a://b", "HDFS:///x", "C:\\x", "C://x", "/x", "file:/x")], ["s3a", "hdfs", None, None, None, None])
        for url, path in (("s3a://b/x/y", "/x/y"), ("s3a://b", "/"), ("file:/x", "/x"), ("file:///x", "/x")):
            self.assertEqual(stores.path_of(url), path)

    def test_addresses_of_s3(self):
        for address, tls, expected in ((None, "true", None), ("", "true", None), ("minio:9000", "true", "https://minio:9000"),
                                       ("minio:9000", "False", "http://minio:9000"), ("http://minio", "true", "http://minio")):
            self.assertEqual(stores.endpoint(address, tls), expected)

    def test_an_error_without_a_text_is_told(self):
        with mock.patch.object(stores.Hadoop, "of", side_effect=KeyError()), self.assertRaisesRegex(SystemExit, "no file system for it: "):
            stores.store(Spark(), "gs://b/x")
        with mock.patch.object(stores.Hadoop, "of", side_effect=ValueError("")), self.assertRaisesRegex(SystemExit, "ValueError"):
            stores.store(Spark(), "gs://b/x")

    def test_hadoop_gets_the_file_of_that_name_with_all_settings(self):
        java = os.path.join(self.folder, "bin", "java")
        self.put("bin/java")
        with open(java, "w", encoding="utf-8") as script:
            script.write(f"""#!{sys.executable}
import json, shutil, sys
_, classes, shell, conf, settings, *command = sys.argv[1:]
with open({self.folder!r} + "/call", "w") as call:
    json.dump([classes, conf, open(settings).read(), command], call)
open(command[-1], "w").write("trace")
""")
        os.chmod(java, 0o755)
        pyspark = types.SimpleNamespace(__file__="/spark/__init__.py", SparkFiles=types.SimpleNamespace(getRootDirectory=lambda: "/files"))
        environment = mock.patch.dict(os.environ, JAVA_HOME=self.folder, HADOOP_CONF_DIR="/own", SPARK_HOME="/spark")
        name = "run[1] {a,b}*?%20.etl"
        with mock.patch.dict(sys.modules, pyspark=pyspark), environment:
            stores.Hadoop({"fs.key": "<secret>"}).get("hdfs://n/" + name, os.path.join(self.folder, name))
        with open(os.path.join(self.folder, name), encoding="utf-8") as copy:
            self.assertEqual(copy.read(), "trace")
        with open(os.path.join(self.folder, "call"), encoding="utf-8") as call:
            classes, conf, settings, command = json.load(call)
        # The executor's own settings come first: of files of one name Java loads one.
        self.assertEqual((classes.split(os.pathsep)[:3], conf), (["/own", "/spark/jars/*", "/files/*"], "-conf"))
        self.assertIn("<name>fs.key</name><value>&lt;secret&gt;</value>", settings)
        self.assertEqual(command[:2], ["-get", "hdfs://n/run\\[1\\] \\{a,b\\}\\*\\?%20.etl"])


class Middle:
    """The aggregate `percentile` of SQL engines, for the median."""

    def __init__(self):
        self.values = []

    def step(self, value, _half):
        self.values.append(value)

    def finalize(self):
        self.values.sort()
        return self.values[len(self.values) // 2]


class ByBuild:
    """The aggregate `min_by` of SQL engines; `max_by` with the other choice."""

    choice = staticmethod(min)

    def __init__(self):
        self.pairs = []

    def step(self, value, by):
        if by is not None:
            self.pairs.append((by, value))

    def finalize(self):
        return self.choice(self.pairs)[1] if self.pairs else None


class ByLastBuild(ByBuild):
    choice = staticmethod(max)


class Answer:
    """What Spark returns for a question, of rows that are there."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows

    def take(self, most):
        return self.rows[:most]

    def count(self):
        return len(self.rows)


class Questions(unittest.TestCase):
    def answer(self, question, traces, resident):
        """The answer to the question that begins so, and its rows, of these rows of `traces` (trace, os_build) and `resident`."""
        [sql] = [sql for name, sql in fleet.QUESTIONS.items() if name.startswith(question)]
        base = sqlite3.connect(":memory:")
        base.create_aggregate("min_by", 2, ByBuild)
        base.create_aggregate("max_by", 2, ByLastBuild)
        base.create_aggregate("percentile", 2, Middle)
        base.execute("CREATE TABLE traces (trace, os_build)")
        base.execute("CREATE TABLE resident (trace, instance, use, list, category, bytes)")
        base.execute("CREATE TABLE processes (trace, instance, process_name)")
        base.executemany("INSERT INTO traces VALUES (?, ?)", traces)
        base.executemany("INSERT INTO resident VALUES (?, ?, 'ProcessPrivate', 'Active', ?, ?)", resident)
        base.executemany("INSERT INTO processes VALUES (?, ?, ?)", {(trace, instance, f"p{instance:02}.exe") for trace, instance, _, _ in resident})
        found = base.execute(sql)
        rows = found.fetchall()
        spark = types.SimpleNamespace(sql=lambda _: Answer([name for name, *_ in found.description], rows))
        return fleet.answer(spark, sql), rows

    def test_a_table_that_is_cut_says_of_how_many_rows(self):
        resident = [(trace, n, f"C{n:02}", (n + 1) << 20) for n in range(28) for trace in ("a", "b")]
        for question in ("Memory on the list Active", "95th percentile"):
            shown, rows = self.answer(question, [("a", 1), ("b", 2)], resident)
            self.assertEqual((len(rows), shown.split("\n")[-1], shown.count("\n|")), (28, "first 20 of 28 rows", 21), question)
            shown, rows = self.answer(question, [("a", 1), ("b", 2)], resident[:30])
            self.assertEqual((len(rows), shown.count("\n|"), "first" in shown), (15, 16, False), question)

    def test_of_one_build_no_growth_is_known(self):
        resident = [("a", 1, "X", 4 << 20), ("b", 1, "X", 6 << 20)]
        for builds, row, says in (((1, 2), ("X", 4, 6, 2), None),
                                  ((1, 1), ("X", 5, 5, None), "There is only one build: nothing to compare, and no growth is known"),
                                  ((None, None), ("X", None, None, None), "No trace tells its build: nothing to compare, and no growth is known")):
            shown, rows = self.answer("Memory on the list Active", zip("ab", builds), resident)
            self.assertEqual((rows, shown.split("\n")[-1] if says else None), ([row], says), builds)

    def test_traces_of_unknown_machines_are_machines_of_their_own(self):
        [sql] = [sql for question, sql in fleet.QUESTIONS.items() if question.startswith("Outliers")]
        base = sqlite3.connect(":memory:")
        base.create_aggregate("percentile", 2, Middle)
        base.execute("CREATE TABLE traces (trace, machine)")
        base.execute("CREATE TABLE resident (trace, instance, bytes)")
        for trace, machine, mib in (("a", None, 100), ("b", None, 900), ("c", None, 100), ("d", "m1", 100), ("e", "m1", 120)):
            base.execute("INSERT INTO traces VALUES (?, ?)", (trace, machine))
            base.execute("INSERT INTO resident VALUES (?, 1, ?)", (trace, mib << 20))
        self.assertEqual(base.execute(sql).fetchall(), [("b", 900, 110)])

    def test_names_of_a_dataset_cannot_steer_a_terminal(self):
        name = "a\x1b]0;x\x07\x9b2J\x7f\u202egpj\u200b\ufeff\U000e0041\r\n.exe"
        answer = Answer(["name", "error"], [(name, None)] * 50)
        spark = types.SimpleNamespace(sql=lambda _: answer)
        session = types.SimpleNamespace(builder=types.SimpleNamespace(appName=lambda _: types.SimpleNamespace(getOrCreate=lambda: spark)))
        modules = {"pyspark": types.ModuleType("pyspark"), "pyspark.sql": types.SimpleNamespace(SparkSession=session)}
        out = io.StringIO()
        with mock.patch.dict(sys.modules, modules), mock.patch.object(fleet, "open_tables"), mock.patch.object(sys, "argv", ["fleet.py", "ask", "d"]):
            with contextlib.redirect_stdout(out):
                fleet.main()
        self.assertEqual([line for line in out.getvalue().split("\n") if visible.HIDDEN.search(line)], [])
        shown = r"|a\x1b]0;x\x07\x9b2J\x7f\u{202e}gpj\u{200b}\u{feff}\u{e0041}\x0d\x0a.exe|NULL |"
        self.assertEqual(out.getvalue().count(shown), 20 * len(fleet.QUESTIONS))
        self.assertIn("first 20 of 50 rows", out.getvalue())

    def test_hidden_characters_are_those_of_the_program(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "escape.rs")
        if not os.path.exists(path):
            self.skipTest("the program's sources are not beside this folder")
        with open(path, encoding="utf-8") as source:
            text = source.read()
        listed = text[text.index("matches!(c,"):text.index("|| u32::from(c)")]
        hidden = {c for c in range(0x110000) if c < 0x20 or 0x7f <= c < 0xa0 or c & 0xffff >= 0xfffe}
        for first, last in re.findall(r"'\\u\{(\w+)\}'(?:\.\.='\\u\{(\w+)\}')?", listed):
            hidden.update(range(int(first, 16), int(last or first, 16) + 1))
        # Halves of pairs are no characters in Rust.
        hidden.update(range(0xd800, 0xe000))
        self.assertEqual({c for c in range(0x110000) if visible.HIDDEN.match(chr(c))}, hidden)


if __name__ == "__main__":
    unittest.main()
