"""Where traces and datasets lie that no path names: `hdfs://`, `s3a://`, `gs://`. fleet.py copies through these.

Executors copy by Hadoop's own file systems, those that Spark reads with (`Hadoop`), in a Java process beside the task, because a
Python task has none. Where Spark has no file system for S3, which needs the jar hadoop-aws, boto3 does the same (`S3`).
"""

import os
import subprocess
import tempfile
from xml.sax.saxutils import escape


def scheme(path):
    """The scheme of a URL in small letters; None for a path, also one with a drive."""
    before, found, _ = path.partition("://")
    is_scheme = found and len(before) > 1 and before[0].isalpha() and all(c.isalnum() or c in "+-." for c in before)
    return before.lower() if is_scheme else None


# How the settings of Spark begin that are Hadoop's.
HADOOP = "spark.hadoop."


class Hadoop:
    """A file system of Hadoop. `settings`: what `spark.hadoop.*` says of it, which may be secret; the executor's own are in the
    folder HADOOP_CONF_DIR."""

    def __init__(self, settings):
        self.settings = settings

    @staticmethod
    def of(spark, url):
        """The store of a URL.

        Raises py4j's error where Spark has no such file system."""
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        spark.sparkContext._jvm.org.apache.hadoop.fs.Path(url).getFileSystem(configuration)
        every = spark.sparkContext.getConf().getAll()
        return Hadoop({key[len(HADOOP):]: value for key, value in every if key.startswith(HADOOP)})

    def files(self, spark, url):
        """URL, size and version of each file at and below a URL; the driver asks."""
        path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(url)
        system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        if not system.exists(path):
            return
        found = system.listFiles(path, True)
        while found.hasNext():
            status = found.next()
            yield status.getPath().toString(), status.getLen(), str(status.getModificationTime())

    def begin(self, spark, url):
        """Makes the folder of a dataset."""
        path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(url)
        path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).mkdirs(path)

    def get(self, url, path):
        """Copies a file to a disk."""
        self._run("-get", url, path)

    def put(self, paths, url):
        """Copies folders into a folder, over what is there, in this order."""
        if paths:
            self._run("-put", "-f", *paths, url.rstrip("/") + "/")

    def _run(self, *command):
        import pyspark
        from pyspark import SparkFiles

        home = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
        java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        with tempfile.TemporaryDirectory() as folder:
            # Not on the command line: everybody on the machine can read that, and keys may be among the settings.
            with open(os.path.join(folder, "core-site.xml"), "w", encoding="utf-8") as site:
                lines = (f"<property><name>{escape(key)}</name><value>{escape(value)}</value></property>\n" for key, value in self.settings.items())
                site.write("<configuration>\n" + "".join(lines) + "</configuration>\n")
            jars = [folder, os.environ.get("HADOOP_CONF_DIR", folder), os.path.join(home, "jars", "*"), os.path.join(SparkFiles.getRootDirectory(), "*")]
            command = [java, "-cp", os.pathsep.join(jars), "org.apache.hadoop.fs.FsShell", *command]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(command[3:])}: {done.stderr.strip()[-2000:]}")


class S3:
    """S3 by boto3. Its keys come from the environment of the executors, or their role."""

    def __init__(self, endpoint):
        self.endpoint = endpoint

    def _client(self):
        import boto3

        return boto3.client("s3", endpoint_url=self.endpoint)

    @staticmethod
    def _parts(url):
        bucket, _, key = url.partition("://")[2].partition("/")
        return bucket, key

    def files(self, _spark, url):
        bucket, key = self._parts(url)
        pages = self._client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key)
        for one in (one for page in pages for one in page.get("Contents", [])):
            # `traces/a` is below `traces`, and `traces-old/a` is not.
            if not key or key.endswith("/") or one["Key"][len(key):][:1] in ("", "/"):
                yield f"{scheme(url)}://{bucket}/{one['Key']}", one["Size"], one["ETag"]

    def begin(self, _spark, url):
        self._client().head_bucket(Bucket=self._parts(url)[0])

    def get(self, url, path):
        bucket, key = self._parts(url)
        self._client().download_file(bucket, key, path)

    def put(self, paths, url):
        bucket, key = self._parts(url.rstrip("/") + "/")
        client = self._client()
        for path in paths:
            for folder, _, names in sorted(os.walk(path)):
                for name in sorted(names):
                    local = os.path.join(folder, name)
                    below = os.path.relpath(local, os.path.dirname(path)).replace(os.sep, "/")
                    client.upload_file(local, bucket, key + below)


def store(spark, url):
    """The store of a URL.

    Ends with a message where there is none."""
    try:
        return Hadoop.of(spark, url)
    except Exception as error:
        reason = str(getattr(error, "java_exception", error)).splitlines()[0]
    if scheme(url) in ("s3", "s3a", "s3n"):
        try:
            import boto3  # noqa: F401

            return S3(spark.sparkContext.getConf().get("spark.hadoop.fs.s3a.endpoint"))
        except ImportError:
            raise SystemExit(f"{url}: Spark has no file system for it ({reason}), and boto3 is not installed. "
                             "spark-submit --packages org.apache.hadoop:hadoop-aws:VERSION adds one, VERSION being that of "
                             "Spark's hadoop-client-api; so does pip install boto3 on all machines") from None
    raise SystemExit(f"{url}: Spark has no file system for it: {reason}")
