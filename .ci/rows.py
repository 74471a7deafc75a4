"""Every event of every trace of a folder as a row, in every form: rows.py PROGRAM FOLDER. No row is left out, and no form gives up."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path


def main():
    csv.field_size_limit(1 << 30)
    program, folder = sys.argv[1], Path(sys.argv[2])
    passed = 0
    for trace in sorted(folder.glob("*.etl")):

        def ran(*flags):
            given = subprocess.run([program, "events", trace, "-q", *flags], capture_output=True, stdin=subprocess.DEVNULL)
            assert given.returncode == 0, f"{trace.name} {flags}: code {given.returncode}, {given.stderr.decode()}"
            return given.stdout.decode()

        total = json.loads(ran("--format=json"))["total"]
        rows = [json.loads(line) for line in ran("--rows", "--format=jsonl").splitlines()]
        assert len(rows) == total, f"{trace.name}: {len(rows)} JSON lines of {total} events"
        cells = list(csv.DictReader(io.StringIO(ran("--rows", "--format=csv"), newline="")))
        assert len(cells) == total, f"{trace.name}: {len(cells)} rows of CSV of {total} events"
        for row, own in zip(rows, cells):
            assert (row["event"], str(row["length"])) == (own["event"], own["length"]), (row, own)
            assert own["fields"] == "" if row["fields"] is None else json.loads(own["fields"]) == row["fields"], (row, own)
        lines = ran("--rows").split("\n")
        heading = next(number for number, line in enumerate(lines) if "Event, fields" in line)
        assert len(lines) - heading - 2 == total, f"{trace.name}: {len(lines) - heading - 2} lines of {total} events"
        passed += 3
    assert passed, f"no trace in {folder}"
    print(f"{passed} passed, 0 failed")


main()
