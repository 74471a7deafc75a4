"""Asks DuckDB the questions of docs/sql.md, with the page's own lines for opening the dataset, and compares the answers. First
it does what README.md says.

sql.py FOLDER [--write]: FOLDER holds `dataset`. An answer is the Markdown table that follows a block of SQL.
"""

import difflib
import os
import re
import sys

import duckdb

PAGE = "docs/sql.md"


def cell(value):
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value).replace("|", "\\|")


def table(sql):
    result = duckdb.sql(sql)
    rows = result.fetchall()
    assert rows, f"no answer to:\n{sql}"
    lines = [result.columns, ["---"] * len(result.columns), *rows]
    return "".join("| " + " | ".join(map(cell, line)) + " |\n" for line in lines)


def main():
    page = open(PAGE, encoding="utf-8").read()
    readme = re.findall(r"^>>> (.*)", open("README.md", encoding="utf-8").read(), re.M)
    os.chdir(sys.argv[1])
    for line in readme:
        answer = exec(line) if line.startswith("import ") else eval(line)
    assert len(answer.fetchall()) == 5, "the README's question"
    exec(re.search(r"```python\n(.*?)```", page, re.S)[1])
    asked = 0

    def answered(found):
        nonlocal asked
        asked += 1
        return found[1] + "\n" + table(found[2])

    now = re.sub(r"(```sql\n(.*?)```\n)\n?(?:\|[^\n]*\n)*", answered, page, flags=re.S)
    # What follows a block is a table and nothing else that begins with a bar.
    if "--write" in sys.argv:
        os.chdir(os.environ["PWD"])
        open(PAGE, "w", encoding="utf-8").write(now)
    elif now != page:
        sys.stdout.writelines(difflib.unified_diff(page.splitlines(True), now.splitlines(True), PAGE, "DuckDB"))
        sys.exit(f"{PAGE} does not say what DuckDB answers; .ci/sql --write writes it")
    assert asked == 16, f"sixteen questions, not {asked}"
    print(f"{asked} questions answered by DuckDB {duckdb.__version__} as {PAGE} says")


main()
