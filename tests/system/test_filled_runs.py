"""`table.fill`, through the command line: from tables with gaps to predictions of new patients."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import securefair as sf
from securefair.cli import app
from securefair.data import encode_features, read_rows
from securefair.data.filling import filled, restored

NAMES = ["a", "b", "outcome"]


def rows_of(seed, patients=90, gaps=0.3):
    """b hangs together with a, decides the outcome, and is often missing."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=patients)
    b = a + 0.3 * rng.normal(size=patients)
    ill = np.where(b + 0.3 * rng.normal(size=patients) > 0, "ill", "well")
    gone = rng.random(patients) < gaps
    texts = ["" if at else f"{value:.3f}" for at, value in zip(gone, b, strict=True)]
    return [
        [f"{one:.3f}", *rest] for one, *rest in zip(a.tolist(), texts, ill.tolist(), strict=True)
    ]


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])
    return path


def invoke(*words):
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of three tables whose rules are filled, or not."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("north", "south", "east")):
        write(tmp_path / f"{name}.csv", rows_of(seed))
    data = [word for name in ("north", "south", "east") for word in ("--data", f"{name}.csv")]
    made = invoke("new", "mine", *data, "--label", "outcome")
    assert made.exit_code == 0, made.output
    config = tmp_path / "mine/config.toml"
    plain = config.read_text()

    def with_fill(fill, more=""):
        assert "fill = false" in plain
        text = plain.replace("fill = false", "fill = true") if fill else plain
        kept = [line for line in text.splitlines() if not line.startswith("renewals = ")]
        text = "\n".join(kept).replace('backend = "seal"', 'backend = "clear"')
        config.write_text(text + more)
        return config

    return with_fill


@pytest.mark.slow
def test_a_run_fills_gaps_in_and_so_do_its_models(project, tmp_path):
    later = [[one[0], "", one[2]] for one in rows_of(9, 40, gaps=0)]
    path = str(write(tmp_path / "later.csv", later))
    said = {}
    for fill in (False, True):
        place = tmp_path / f"run-{fill}"
        done = invoke("run", str(project(fill)), "--out", str(place))
        assert done.exit_code == 0, done.output
        model = sf.load_model(place / "models/north")
        assert model.record.table.fill is fill
        assert ("filled_mean" in model.record.own) is fill
        said[fill] = model.predict_proba(path)
    table = model.record.table
    features = encode_features(read_rows(path), table)
    b = table.features.index("b")
    assert not features[:, b].any()
    likely = filled(table, features, restored(model.record.own))
    assert np.corrcoef(likely[:, b], likely[:, table.features.index("a")])[0, 1] > 0.99
    np.testing.assert_allclose(said[True], model.said(likely))
    assert np.abs(said[True] - said[False]).max() > 0.05
    unknown = write(tmp_path / "unknown.csv", [["1.2", "", "ill"], ["-1.2", "", "well"]])
    assert model.predict(str(unknown)).tolist() == ["ill", "well"]
    page = invoke("evaluate", str(tmp_path / "run-True/models/north"), str(tmp_path / "later.csv"))
    assert page.exit_code == 0, page.output
    pytest.importorskip("onnx")
    refused = invoke("export", str(tmp_path / "run-True/models/north"), "--out", "model.onnx")
    assert refused.exit_code != 0
    assert not (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("\n[privacy]\nepsilon = 3.0\n", "no promise counts"),
        ('\n[[renewals]]\nname = "north"\nfile = "../south.csv"\n', "those who stay"),
    ],
)
def test_what_filling_does_not_go_with_is_refused_by_one_line(project, more, says):
    done = invoke("check", str(project(True, more)))
    assert done.exit_code != 0
    assert says in done.output.replace("\n", " ")
    assert "Traceback" not in done.output
