"""Where traces and datasets lie that no path names: `hdfs://`, `s3a://`, `gs://`. fleet.py copies through these.

Executors copy by Hadoop's own file systems, those that Spark reads with (`Hadoop`), in a Java process beside the task, because a
Python task has none. Where Spark has no file system for S3, which needs the jar hadoop-aws, boto3 does the same (`S3`).
"""

import os
import re
import subprocess
import tempfile
from xml.sax.saxutils import escape

from visible import lines


def scheme(path):
    """The scheme of a URL in small letters; None for a path, also one with a drive."""
    before, found, _ = path.partition("://")
    is_scheme = found and len(before) > 1 and before[0].isalpha() and all(c.isalnum() or c in "+-." for c in before)
    return before.lower() if is_scheme else None


def scheme_of(url):
    """The scheme of a URL as a store lists it: Hadoop writes `file:/a`, without the slashes of an authority."""
    return url.partition(":")[0].lower()


def path_of(url):
    """The path of a URL, without scheme and authority: both are often left out or written in two ways."""
    rest = url.partition(":")[2]
    return "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest


# How the settings of Spark begin that are Hadoop's.
HADOOP = "spark.hadoop."


# What the paths of Hadoop's shell say in patterns; a backslash before it makes it plain.
GLOB = re.compile(r"[\\\[\]{}*?]")


class Hadoop:
    """A file system of Hadoop. `settings`: what `spark.hadoop.*` says of it, which may be secret. They come over the executor's own
    (core-site.xml and others in the folder HADOOP_CONF_DIR), which hold for all that is not among them."""

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
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
            # By a plain name: the shell reads the target as a URI, in which a blank or % means something else.
            copy = os.path.join(folder, "copy")
            self._run("-get", GLOB.sub(r"\\\g<0>", url), copy)
            os.replace(copy, path)

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
            # And not as core-site.xml in the class path: Java loads one of that name, and the executor's own would be lost. The shell
            # wants one to be there, so an empty one comes last.
            with open(os.path.join(folder, "core-site.xml"), "w", encoding="utf-8") as site:
                site.write("<configuration/>\n")
            settings = os.path.join(folder, "settings.xml")
            with open(settings, "w", encoding="utf-8") as site:
                lines = (f"<property><name>{escape(key)}</name><value>{escape(value)}</value></property>\n" for key, value in self.settings.items())
                site.write("<configuration>\n" + "".join(lines) + "</configuration>\n")
            own = [os.environ["HADOOP_CONF_DIR"]] if os.environ.get("HADOOP_CONF_DIR") else []
            jars = [*own, os.path.join(home, "jars", "*"), os.path.join(SparkFiles.getRootDirectory(), "*"), folder]
            shell = [java, "-cp", os.pathsep.join(jars), "org.apache.hadoop.fs.FsShell", "-conf", settings]
            done = subprocess.run([*shell, *command], capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            raise OSError(lines(f"FsShell {' '.join(command)}: {done.stderr.strip()[-2000:]}"))


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


def endpoint(address, with_tls):
    """The address of S3 as boto3 takes it: Hadoop's needs no scheme, and says in another setting which it is."""
    if not address or "://" in address:
        return address or None
    return f"{'http' if with_tls.strip().lower() == 'false' else 'https'}://{address}"


def store(spark, url):
    """The store of a URL.

    Ends with a message where there is none."""
    try:
        return Hadoop.of(spark, url)
    except Exception as error:
        reason = (str(getattr(error, "java_exception", error)).splitlines() or [type(error).__name__])[0]
    if scheme(url) in ("s3", "s3a", "s3n"):
        try:
            import boto3  # noqa: F401

            settings = spark.sparkContext.getConf()
            return S3(endpoint(settings.get("spark.hadoop.fs.s3a.endpoint"),
                               settings.get("spark.hadoop.fs.s3a.connection.ssl.enabled", "true")))
        except ImportError:
            raise SystemExit(f"{url}: Spark has no file system for it ({reason}), and boto3 is not installed. "
                             "spark-submit --packages org.apache.hadoop:hadoop-aws:VERSION adds one, VERSION being that of "
                             "Spark's hadoop-client-api; so does pip install boto3 on all machines") from None
    raise SystemExit(f"{url}: Spark has no file system for it: {reason}")
