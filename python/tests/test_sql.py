"""The questions of docs/sql.md to the tables of the module, without files: DuckDB answers what the page says."""

import re

import pfnset
import pytest
from conftest import FIXTURES, ROOT

PAGE = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"```sql\n(.*?)```\n\n?((?:\|[^\n]*\n)+)", PAGE, re.S)
# What the dataset of the page has: its command line names them.
TABLES = ["resident", "pages", "processes", "files", "ranges", "refset", "refset_pages", "events", "allocations"]
OTHERS = {"stacks", "stack_events", "allocation_pieces", "piece_stacks"}


def is_of_a_dataset(sql):
    """Stacks, pieces, and what the table `traces` says of files are in a dataset alone."""
    return bool(names(sql) & OTHERS) or names(sql) == {"traces"}


def cell(value):
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value).replace("|", "\\|")


@pytest.fixture(scope="module")
def asked():
    """DuckDB with the tables of all fixtures, as they are in a dataset."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    parts = {}
    traces = []
    for number, path in enumerate(sorted(FIXTURES.glob("*.etl"))):
        with pfnset.open(path) as trace:
            traces.append((number, str(path)))
            for name in TABLES:
                try:
                    table = trace.table(name, **({"events": "DiskRead;DiskWrite"} if name == "events" else {}))
                except pfnset.MissingEvents:
                    continue
                connection.register(f"{name}_{number}", table)
                parts.setdefault(name, []).append(f"SELECT '{number}' AS trace, * FROM {name}_{number}")
    for name, selects in parts.items():
        connection.sql(f"CREATE TABLE {name} AS " + " UNION ALL BY NAME ".join(selects))
    connection.execute("CREATE TABLE traces (trace TEXT, trace_file TEXT)")
    connection.executemany("INSERT INTO traces VALUES (?, ?)", traces)
    return connection


def names(sql):
    return set(re.findall(r"\b(?:FROM|JOIN)\s+\(?\s*(?:FROM\s+)?([a-z_]+)", sql))


@pytest.mark.parametrize("sql, expected", QUESTIONS, ids=lambda text: text.split("FROM")[0][:40] if "FROM" in text else "answer")
def test_a_question_is_answered(asked, sql, expected):
    if is_of_a_dataset(sql):
        pytest.skip("of a dataset alone")
    result = asked.sql(sql)
    lines = [result.columns, ["---"] * len(result.columns), *result.fetchall()]
    assert "".join("| " + " | ".join(map(cell, line)) + " |\n" for line in lines) == expected


def test_ten_questions_at_least_are_of_the_module():
    assert len([sql for sql, _ in QUESTIONS if not is_of_a_dataset(sql)]) >= 10
