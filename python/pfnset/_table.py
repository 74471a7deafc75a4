"""Rows with typed columns."""

import html

from . import _pfnset

_HEAD = 20


class Table:
    """Rows that any library with the Arrow PyCapsule interface takes as they are: Polars, pandas, DuckDB, pyarrow.

    ``warnings`` says what makes its numbers doubtful.
    """

    def __init__(self, batches, warnings=()):
        self._batches = batches
        self.warnings = list(warnings)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._batches.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self):
        return self._batches.__arrow_c_schema__()

    def __len__(self):
        return len(self._batches)

    def __iter__(self):
        for at in range(0, len(self), 1024):
            yield from self._batches.rows(at, 1024)

    @property
    def columns(self):
        """The names of the columns."""
        return [name for name, _ in self._batches.columns]

    @property
    def schema(self):
        """The Arrow type of each column, by its name."""
        return dict(self._batches.columns)

    @property
    def nbytes(self):
        """Bytes of memory."""
        return self._batches.nbytes

    def head(self, count=5):
        """The first rows, each as a dict."""
        return self._batches.rows(0, count)

    def to_dicts(self):
        """All rows, each as a dict."""
        return list(self)

    def to_arrow(self):
        """A table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self):
        """A DataFrame of Polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self):
        """A DataFrame of pandas. Before pandas 3 it needs pyarrow."""
        import pandas

        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        return self.to_arrow().to_pandas()

    def __reduce_ex__(self, protocol):
        raise TypeError("a pfnset.Table is not pickled: pickle table.to_arrow() or table.to_polars()")

    def __repr__(self):
        return f"<pfnset.Table: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self):
        def cells(tag, values):
            texts = (_pfnset.visible("" if value is None else str(value)) for value in values)
            return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)

        head = "".join(f"<tr>{cells('td', row.values())}</tr>" for row in self.head(_HEAD))
        left = len(self) - _HEAD
        more = f"<p>{left:,} more rows</p>" if left > 0 else ""
        doubts = "".join(f"<p><b>! {html.escape(line)}</b></p>" for line in self.warnings)
        return f"{doubts}<table><thead><tr>{cells('th', self.columns)}</tr></thead><tbody>{head}</tbody></table>{more}"
