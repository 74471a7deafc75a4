"""The job with URLs: `file://` by Hadoop's file system, and S3 by a server of its own (moto). Both datasets must have the files that
`pfnset export` writes, byte for byte. A second run exports again what could not be read, and nothing else.

test_stores.py PROGRAM FOLDER: FOLDER holds `traces`. `.ci/fleet` runs it.
"""

import os
import shutil
import socket
import subprocess
import sys
import time

import fleet

PROGRAM, FOLDER = (os.path.abspath(path) for path in sys.argv[1:3])
TRACES, EXPECTED = os.path.join(FOLDER, "traces"), os.path.join(FOLDER, "expected")
# A flag that is in the row of each trace.
FLAGS = ["--tag", "build=7"]


def files(folder):
    """Bytes of each file by its path, without those that no engine reads, and without `traces`, which has the trace's own name."""
    found = {}
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (name for name in names if not name.startswith(".")):
            path = os.path.join(where, name)
            below = os.path.relpath(path, folder).replace(os.sep, "/")
            with open(path, "rb") as file:
                found[below] = b"" if below.startswith("traces/") else file.read()
    return found


def check(spark, traces, dataset, copy_of):
    fine, _, broken = fleet.export(spark, PROGRAM, dataset, [traces], FLAGS, staged=True)
    assert (fine, [path.rpartition("/")[2] for path in broken]) == (len(os.listdir(TRACES)) - 1, ["letter.etl"]), (fine, broken)
    copy = copy_of()
    expected, found = files(EXPECTED), files(copy)
    assert expected.keys() == found.keys(), expected.keys() ^ found.keys()
    assert expected == found, [path for path in expected if expected[path] != found[path]]
    rows = spark.read.parquet(os.path.join(copy, "traces")).select("trace_file", "tag_build").collect()
    scheme = traces.partition(":")[0]
    assert sorted(row.trace_file.rpartition("/")[2] for row in rows) == sorted(os.listdir(TRACES)), rows
    assert all(row.trace_file.startswith(scheme + ":") and row.tag_build == "7" for row in rows), rows
    # What was exported is not exported again: the letter alone is a task.
    before = {path: os.stat(os.path.join(copy_of(), path)).st_mtime_ns for path in found} if scheme == "file" else None
    again = fleet.export(spark, PROGRAM, dataset, [traces], FLAGS, staged=True)
    assert again[0] == fine, again
    if before is not None:
        now = {path: os.stat(os.path.join(copy, path)).st_mtime_ns for path in found}
        changed = {path for path in found if before[path] != now[path]}
        assert len(changed) == 1 and changed.pop().startswith("traces/"), changed


def with_s3(spark, port):
    import boto3

    client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
    client.create_bucket(Bucket="bucket")
    for name in os.listdir(TRACES):
        client.upload_file(os.path.join(TRACES, name), "bucket", f"in/{name}")
    client.put_object(Bucket="bucket", Key="in-another/x.etl", Body=b"x")

    def copy():
        folder = os.path.join(FOLDER, "from-s3")
        shutil.rmtree(folder, ignore_errors=True)
        for page in client.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix="out/"):
            for one in page["Contents"]:
                path = os.path.join(folder, one["Key"][len("out/"):])
                os.makedirs(os.path.dirname(path), exist_ok=True)
                client.download_file("bucket", one["Key"], path)
        return folder

    check(spark, "s3a://bucket/in", "s3a://bucket/out", copy)


def main():
    try:
        import boto3  # noqa: F401
        import moto.server  # noqa: F401

        has_s3 = True
    except ImportError:
        has_s3 = False
    with open(os.path.join(TRACES, "letter.etl"), "w", encoding="utf-8") as letter:
        letter.write("no trace")
    # Names that mean something to Hadoop's shell: the first is a pattern that the other fits.
    fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures")
    for fixture, name in (("cpu-compressed.etl", "run[1] {a}%20.etl"), ("alloc-x86.etl", "run1 {a}%20.etl")):
        shutil.copy(os.path.join(fixtures, fixture), os.path.join(TRACES, name))
    odd = shutil.copy(os.path.join(fixtures, "resident-small.etl"), os.path.join(FOLDER, "dump.bin"))
    done = subprocess.run([PROGRAM, "export", TRACES, "--out", EXPECTED, "-q", *FLAGS], check=False)
    assert done.returncode == fleet.BROKEN, done
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ.update(AWS_ACCESS_KEY_ID="testing", AWS_SECRET_ACCESS_KEY="testing", AWS_DEFAULT_REGION="us-east-1")

    from pyspark.sql import SparkSession

    spark = (SparkSession.builder.master("local[2]").appName("pfnset stores").config("spark.ui.enabled", "false")
             .config("spark.hadoop.fs.s3a.endpoint", f"http://127.0.0.1:{port}").getOrCreate())
    spark.sparkContext.setLogLevel("OFF")
    check(spark, "file://" + TRACES, "file://" + os.path.join(FOLDER, "by-hadoop"), lambda: os.path.join(FOLDER, "by-hadoop"))
    print("file:// by Hadoop's file system: the same files as pfnset export writes")
    out = "file://" + os.path.join(FOLDER, "odd")
    assert fleet.export(spark, PROGRAM, out, ["file://" + odd], [], staged=True) == (1, [], []), "a file of any name, named itself"
    assert fleet.export(spark, PROGRAM, out, [os.path.join(FOLDER, "none.etl")], [], staged=True)[2], "one that is not there"
    assert fleet.export(spark, PROGRAM, out, [os.path.join(FOLDER, "none.etl")], [], staged=True)[2], "and again"
    rows = spark.read.parquet(os.path.join(FOLDER, "odd", "traces")).select("trace_file").collect()
    assert sorted(os.path.basename(row.trace_file) for row in rows) == ["dump.bin", "none.etl"], rows
    if has_s3:
        server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            with_s3(spark, port)
        finally:
            server.terminate()
            server.wait()
        by = type(fleet.stores.store(spark, "s3a://bucket/out")).__name__
        print(f"s3a:// by {by}, on moto's server: the same files as pfnset export writes")
        if by != "Hadoop":
            print("SKIPPED: s3a:// by Hadoop's file system, the jar hadoop-aws is not there")
    else:
        print("SKIPPED: s3a://, moto's server cannot be installed")
    spark.stop()


main()
