#!/usr/bin/env python3
"""Packs a folder so that equal folders give equal bytes: pack.py FOLDER ARCHIVE.tar.gz|ARCHIVE.zip SECONDS

Files are sorted, belong to nobody, and have the time SECONDS (since 1970, as in SOURCE_DATE_EPOCH). What is executable for
its owner is executable for all; no other permission counts.
"""

import gzip
import os
import sys
import tarfile
import time
import zipfile
from pathlib import Path


def members(folder):
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts):
        if path.is_file():
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            yield path, f"{folder.name}/{path.relative_to(folder).as_posix()}", mode


def tar(folder, archive, seconds):
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=seconds) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as out:
            for path, name, mode in members(folder):
                member = tarfile.TarInfo(name)
                member.size, member.mtime, member.mode = path.stat().st_size, seconds, mode
                with open(path, "rb") as content:
                    out.addfile(member, content)


def zipped(folder, archive, seconds):
    # ZIP counts local time in steps of two seconds.
    when = time.gmtime(seconds - seconds % 2)[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for path, name, mode in members(folder):
            member = zipfile.ZipInfo(name, when)
            member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, 3
            member.external_attr = (0o100000 | mode) << 16
            out.writestr(member, path.read_bytes())


def main():
    folder, archive, seconds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    (zipped if archive.endswith(".zip") else tar)(folder, archive, seconds)


main()
