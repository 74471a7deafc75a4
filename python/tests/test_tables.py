"""Tables are Arrow data for every library that takes it."""

import html
import json

import pfnset
import pytest
from conftest import FIXTURES, program, traces


@pytest.fixture
def opened(resident):
    with pfnset.open(resident) as trace:
        yield trace


def test_pages_are_those_of_the_export(opened, resident, tmp_path):
    """The same rows as the files of the program, which DuckDB or pyarrow read elsewhere: here by CSV, which needs no library."""
    import csv

    ran = program("export", resident, "--out", tmp_path / "set", "--pages", "--format=csv", "--tables=pages")
    assert ran.returncode == 0, ran.stderr
    (part,) = (tmp_path / "set" / "pages").glob("*/part-0.csv")
    with part.open(newline="", encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    pages = opened.pages()
    assert len(pages) == len(expected) == 3000
    for found, row in zip(pages, expected):
        assert list(found) == [name for name in row if name in found]
        assert int(row["pfn"]) == found["pfn"] and row["category"] == found["category"]
        assert (row["process"] or None) == found["process"]
        assert (int(row["address"], 0) if row["address"] else None) == found["address"]


def test_types_are_stable(opened):
    schema = opened.pages().schema
    assert schema["address"] == "UInt64" and schema["pfn"] == "Int64" and schema["is_last"] == "Boolean"
    assert schema["category"].startswith("Dictionary(Int32, Utf8")
    assert opened.resident().rows.schema["pages"] == "Int64"


def test_streams_can_be_taken_again(opened):
    table = opened.pages()
    capsules = [table.__arrow_c_stream__() for _ in range(3)]
    assert all("arrow_array_stream" in repr(capsule) for capsule in capsules)
    assert "arrow_schema" in repr(table.__arrow_c_schema__())
    del capsules  # those that nobody took release what they hold
    pyarrow = pytest.importorskip("pyarrow")
    assert [pyarrow.table(table).num_rows for _ in range(3)] == [3000] * 3
    assert pyarrow.schema(table) == pyarrow.table(table).schema


def test_a_table_outlives_its_trace(resident):
    with pfnset.open(resident) as trace:
        table, answer = trace.pages(), trace.resident(group_by="list")
    assert len(list(table)) == 3000
    assert sum(row["pages"] for row in answer.rows) == 3000
    assert "no text" in repr(answer), "the text was not asked for while the trace was open"
    with pytest.raises(pfnset.Error, match="closed"):
        trace.resident()


@pytest.mark.parametrize("trace", traces(), ids=lambda trace: trace.stem)
def test_every_table_of_the_export_is_there(trace):
    names = ["resident", "processes", "files", "ranges", "refset", "refset_pages", "memory_samples", "working_sets", "cpu",
             "cpu_waits", "cpu_interrupts", "allocations", "warnings"]  # fmt: skip
    with pfnset.open(trace) as opened:
        for name in names:
            try:
                table = opened.table(name)
            except pfnset.MissingEvents as missing:
                assert missing.advice
                continue
            except pfnset.MissingPart:
                continue
            assert len(table.to_dicts()) == len(table)
        events = opened.table("events", events="*")
        assert len(events) == opened.info()["file"]["events"]
        for row in events.head(100):
            assert row["fields"] is None or isinstance(row["fields"], dict)


def test_without_columns(opened):
    """What nobody knows has the type null, and an answer without rows has its columns."""
    rows = opened.resident(where="process=no-such*", group_by="process").rows
    assert len(rows) == 0 and rows.columns[:2] == ["snapshot", "process"] and rows.to_dicts() == []
    rows.__arrow_c_stream__()


def test_polars_takes_it(opened):
    polars = pytest.importorskip("polars")
    pages = opened.pages()
    frame = pages.to_polars()
    assert frame.shape == (3000, len(pages.columns))
    assert frame["address"].dtype == polars.UInt64
    assert frame["address"].drop_nulls().max() == max(row["address"] or 0 for row in pages)
    counted = {row["category"]: row["len"] for row in frame.group_by("category").len().to_dicts()}
    assert counted == {row["category"]: row["pages"] for row in opened.resident().rows}


def test_pandas_takes_it(opened):
    pandas = pytest.importorskip("pandas")
    if int(pandas.__version__.split(".")[0]) < 3:
        pytest.importorskip("pyarrow")
    frame = opened.pages().to_pandas()
    assert len(frame) == 3000
    assert int(frame["address"].max()) == max(row["address"] or 0 for row in opened.pages())
    assert len(opened.processes().rows.to_pandas()) == len(opened.processes().rows)


def test_addresses_of_a_dataset_survive_pandas(opened, resident, tmp_path):
    """As docs/sql.md says: without the flag, pandas makes floating-point numbers of them, and some are wrong."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert program("export", resident, "--out", tmp_path / "dataset", "--pages", "-q").returncode == 0
    frame = pandas.read_parquet(tmp_path / "dataset" / "pages", dtype_backend="pyarrow").sort_values("pfn")
    told = [row["address"] for row in sorted(opened.pages(), key=lambda row: row["pfn"])]
    assert [None if address is pandas.NA else address for address in frame["address"]] == told
    assert any(address is not None and int(float(address)) != address for address in told), "the test tells them apart"


def test_duckdb_takes_it(opened):
    duckdb = pytest.importorskip("duckdb")
    pages = opened.pages()
    sums = duckdb.sql("select category, count(*) from pages group by 1").fetchall()
    assert dict(sums) == {row["category"]: row["pages"] for row in opened.resident().rows}
    again = duckdb.sql("select max(address), count(*) from pages").fetchall()
    assert again == [(max(row["address"] or 0 for row in pages), 3000)]
    rows = opened.resident().rows
    assert duckdb.sql("select sum(pages) from rows").fetchall() == [(3000,)]


def test_html_is_escaped(opened):
    class Batches:
        columns = [("<b>", "Utf8")]

        def __len__(self):
            return 1

        def rows(self, *_):
            return [{"<b>": "<script>&"}]

    shown = pfnset.Table(Batches(), ["<i>"])._repr_html_()
    assert "&lt;script&gt;&amp;" in shown and "<script>" not in shown and "<b>&lt;" not in shown.replace("<b>! ", "")
    answer = opened.resident()
    assert html.escape(answer.text().rstrip("\n")) in answer._repr_html_()
    assert repr(answer) == answer.text().rstrip("\n")
    assert "2,980 more rows" in opened.pages()._repr_html_()


def test_hostile_names_are_escaped_in_text_and_whole_in_rows():
    from conftest import HOSTILE

    path = HOSTILE / "osc.etl"
    if not path.exists():
        pytest.skip("no trace with control characters in names")
    with pfnset.open(path) as trace:
        answer = trace.processes()
        assert "\x1b" not in answer.text() and "\x1b" not in answer._repr_html_()
        assert answer.rows.to_dicts() and json.loads(answer.to_json()) == answer.to_dict()


def test_the_trust_is_on_the_trace():
    for path in traces():
        with pfnset.open(path) as trace:
            info = json.loads(program("info", path, "--format=json").stdout)
            assert (trace.trust, trace.doubts) == (info["trust"], info["doubts"])


def test_fixtures_are_there():
    assert len(list(FIXTURES.glob("*.etl"))) >= 7
