#!/usr/bin/env python3
"""Writes the licences of all that is inside of the program: licenses.py TARGET [FOLDER] > THIRD-PARTY.txt

FOLDER has another Cargo.toml: `python` for the Python module.

The texts are those that lie in the packages of the crates, which cargo has downloaded to build the program: no network is
needed, and the text is of the version that was built. What is linked in and is no crate has its notice in dist/notices.
A crate without a licence of its own to show, or with a licence that deny.toml does not know, stops the release.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.I)
# C code inside of crates, which has its own licence.
INSIDE = {"zstd-sys": ["zstd"], "libmimalloc-sys": ["c_src/mimalloc/v3", "c_src/mimalloc/v2", "c_src/mimalloc"]}
# Crates whose packages lack the text; their repositories have it, in the words of LICENSE.
WITHOUT_TEXT = {"flatbuffers", "fxprof-processed-profile", "maud", "maud_macros"}
NOTICES = {"linux": ["musl"], "windows": ["mingw-w64"]}


def metadata(target, folder):
    command = ["cargo", "metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=HERE.parent / folder, check=True, stdout=subprocess.PIPE).stdout)


def reached(graph):
    """What the program is made of: not what only tests and build scripts need."""
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    root = graph["resolve"]["root"]
    found, rest = set(), [root]
    while rest:
        node = rest.pop()
        if node not in found:
            found.add(node)
            normal = [d for d in nodes[node]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
            rest.extend(dependency["pkg"] for dependency in normal)
    crates = (package for package in graph["packages"] if package["id"] in found - {root})
    return sorted(crates, key=lambda package: (package["name"], package["version"]))


def texts(package):
    folder = Path(package["manifest_path"]).parent
    folders = [folder] + [folder / inside for inside in INSIDE.get(package["name"], [])]
    files = sorted(file for at in folders if at.is_dir() for file in at.iterdir() if file.is_file() and NAMES.match(file.name))
    # The other choice for zstd is the GPL, which nobody here takes.
    return [file.read_text(encoding="utf-8", errors="replace") for file in files if file.name != "COPYING" or "zstd" not in str(file)]


def rule(title):
    return f"\n{'=' * 80}\n{title}\n{'=' * 80}\n\n"


def main():
    target = sys.argv[1]
    crates = reached(metadata(target, sys.argv[2] if len(sys.argv) > 2 else "."))
    assert len(crates) > 50, "cargo lists hardly any dependency"
    bodies, used_by, lacking = {}, {}, []
    for package in crates:
        name = f"{package['name']} {package['version']}"
        found = texts(package)
        if not found and package["name"] not in WITHOUT_TEXT:
            lacking.append(name)
        for text in found:
            # The same words with other line breaks are the same text.
            key = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
            bodies.setdefault(key, text)
            used_by.setdefault(key, []).append(name)
        if not package["license"]:
            lacking.append(f"{name} (names no licence)")
    if lacking:
        sys.exit(f"no licence text in the packages of: {', '.join(lacking)}; see WITHOUT_TEXT in {Path(__file__).name}")

    out = ["What pfnset is made of, and under which licences. pfnset itself: see the file LICENSE.\n\n"]
    for package in crates:
        where = package["repository"] or package["homepage"] or f"https://crates.io/crates/{package['name']}"
        out.append(f"{package['name']} {package['version']}: {package['license']}\n    {where}\n")
        if package["name"] in WITHOUT_TEXT:
            by = ", ".join(re.sub(r" *<.*>", "", author) for author in package["authors"]) or "its authors"
            out.append(f"    by {by}; its package has no text: the Apache License 2.0 of the file LICENSE holds\n")
    system = next(system for system in NOTICES if system in target)
    for notice in ["rust", *NOTICES[system], "echarts"]:
        out.append(rule(f"not a crate: {notice}") + (HERE / "notices" / f"{notice}.txt").read_text(encoding="utf-8"))
    for key in sorted(bodies, key=lambda key: (used_by[key][0], key)):
        out.append(rule("\n".join(dict.fromkeys(used_by[key]))) + bodies[key].replace("\r\n", "\n").strip("\n") + "\n")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.write("".join(out))


main()
