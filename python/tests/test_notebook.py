"""docs/notebook.ipynb shows what it says: its cells are run in order, in a kernel of Jupyter where there is one, else as plain code.

PFNSET_WRITE_NOTEBOOK=1 puts what it shows into the file.
"""

import ast
import json
import os

import pytest
from conftest import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
# HTML has widths and styles that differ between versions of libraries; the text beside it says the same.
FORMS = ("text/plain",)


def shown(outputs):
    """What a cell shows, in one form whoever ran it."""
    texts = []
    for output in outputs:
        assert output["output_type"] != "error", output
        if output["output_type"] == "stream":
            # Warnings name a line of a file that is another one in each run.
            if output["name"] == "stdout":
                texts.append("".join(output["text"]).rstrip("\n"))
        else:
            texts += ["".join(output["data"][form]) for form in FORMS if form in output["data"]]
    return texts


def by_jupyter(notebook):
    """The outputs of all cells with code, as a kernel gives them."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    made = nbformat.reads(json.dumps(notebook), as_version=4)
    nbclient.NotebookClient(made, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    return [cell["outputs"] for cell in made.cells if cell.cell_type == "code"]


def of_code(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def notebook():
    pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def test_the_notebook_shows_what_it_says(notebook):
    outputs = by_jupyter(notebook)
    if os.environ.get("PFNSET_WRITE_NOTEBOOK"):
        for number, (cell, own) in enumerate(zip(of_code(notebook), outputs), 1):
            texts = shown(own)
            cell["execution_count"] = number
            cell["outputs"] = [
                {"output_type": "stream", "name": "stdout", "text": (texts[0] + "\n").splitlines(True)}
                if any(output.get("name") == "stdout" for output in own)
                else {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": {"text/plain": texts[0].splitlines(True)}}
            ] if texts else []  # fmt: skip
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = [shown(cell["outputs"]) for cell in of_code(notebook)]
    assert [shown(own) for own in outputs] == expected
    assert sum(map(len, expected)) >= 7, "it shows something"


def test_its_cells_run_without_jupyter(notebook, monkeypatch, capsys):
    """The values of the last lines are those that the notebook shows."""
    monkeypatch.chdir(NOTEBOOK.parent)
    names = {}
    for cell in of_code(notebook):
        body = ast.parse("".join(cell["source"])).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
        texts, printed = shown(cell["outputs"]), capsys.readouterr().out.rstrip("\n")
        if printed:
            assert texts == [printed]
        elif isinstance(value, (list, tuple)):
            assert ast.literal_eval(texts[0]) == value
        elif value is not None:
            assert texts == [repr(value)]
