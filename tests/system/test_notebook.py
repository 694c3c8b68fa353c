"""The notebook from three CSV files to a prediction, cell by cell as a person would run it."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "from_csv_to_prediction.ipynb"


def shown(cell, namespace):
    """Run one cell; returns what a notebook would show of its last line."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), namespace)


@pytest.mark.slow
def test_it_runs_to_a_prediction(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in code)  # results are not kept in the repository
    namespace = {}
    seen = [shown(cell, namespace) for cell in code]
    assert seen[0] == ["cleveland.csv", "hungary.csv", "switzerland.csv"]
    assert "cleveland" in seen[1]._repr_html_()
    said = capsys.readouterr().out
    assert 'column cp: "9": unknown to the model' in said
    assert len([line for line in said.splitlines() if line[0] in "01"]) == 2
