"""Tables that are hard to learn from: `new` and `run` with the defaults take them as they are."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from securefair.cli import app

RARE, COLOURS, STAGES = 0.05, ("amber", "blue", "red"), ("I", "II", "III")

SCORES = {"accuracy", "balanced_accuracy", "auc", "sensitivity", "specificity", "log_loss", "brier"}
CONTROLS = {"standalone", "early_stopping", "averaged_alone", "most_common"}
ENCRYPTION = {"max_abs_error", "error_bound", "numbers_disclosed", "bits_disclosed", "answers",
              "bytes_up", "bytes_down"}  # fmt: skip


def called(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def hospitals(tmp_path, monkeypatch):
    """Writes tables by name; from `new` to metrics.json."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(tables, label):
        given = []
        for name, lines in tables.items():
            (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
            given += ["--data", f"{name}.csv"]
        said = called("new", "p", *given, "--label", label)
        shown = called("run", "p/config.toml", "--backend", "clear", "--out", "out")
        return said, shown, json.loads((tmp_path / "out" / "metrics.json").read_text())

    return run


def rare(name, count, *, seed, positive=True):
    """One of twenty is ill; a column is constant, one says which hospital it is."""
    rng = np.random.default_rng(seed)
    age, group = rng.normal(60, 12, count).round(), rng.choice(COLOURS, count)
    risk = (age - 60) / 12 + (group == "red") + rng.normal(0, 0.5, count)
    ill = risk > np.quantile(risk, 1 - RARE) if positive else np.zeros(count, dtype=bool)
    rows = zip(age, group, ill, strict=True)
    return [
        "age,group,site,ward,ill",
        *(f"{a:g},{g},{name},W,{'yes' if y else 'no'}" for a, g, y in rows),
    ]


def test_a_rare_class_one_class_and_fewer_patients_than_folds(hospitals):
    tables = {
        "north": rare("north", 120, seed=1),
        "south": rare("south", 80, seed=2),
        "east": rare("east", 40, seed=3, positive=False),
        "west": [*rare("west", 5, seed=4)[:5], "61,red,west,W,yes"],
    }
    said, shown, metrics = hospitals(tables, "ill")
    assert "Column site is not used: one value at each participant" in said
    assert "Column ward is not used: always the same" in said
    assert "every patient has the same value" not in said  # of a column that is not used
    assert "west, column ill: only" in said
    assert "of 4 hospitals gained accuracy with Transfer" in shown
    assert "says one class of nearly every patient" in " ".join(shown.split())
    transfer = metrics["algorithms"]["transfer"]
    assert "east" in transfer["nearly_constant"]
    losses = transfer["metrics"]["log_loss"]["by_hospital"]
    assert all(np.isfinite(list(losses.values())))
    assert metrics["class_counts"]["east"] == [40, 0]


def test_texts_only_and_three_classes(hospitals):
    rng = np.random.default_rng(0)

    def table(count):
        words = rng.choice(COLOURS, (count, 3))
        stage = (words == "red").sum(axis=1).clip(0, 2)
        return [
            "a,b,c,stage",
            *(f"{','.join(row)},{STAGES[s]}" for row, s in zip(words, stage, strict=True)),
        ]

    _, _, metrics = hospitals({name: table(40) for name in "xyz"}, "stage")
    for one in metrics["algorithms"].values():  # what scripts may rely on
        assert one["metrics"].keys() >= SCORES
        for score in one["metrics"].values():
            assert score.keys() >= {"mean", "se", "by_hospital"}
            assert list(score["by_hospital"]) == ["x", "y", "z"]
    assert metrics["algorithms"].keys() == {*CONTROLS, "transfer"}
    assert metrics["encryption"].keys() >= ENCRYPTION
    assert metrics["classes"] == list(STAGES)
    scores = {name: one["metrics"]["log_loss"] for name, one in metrics["algorithms"].items()}
    assert scores["transfer"]["mean"] < scores["most_common"]["mean"]
    matrix = np.array(metrics["algorithms"]["transfer"]["confusion"]["x"])
    assert matrix.shape == (3, 3)
    assert matrix.sum() == metrics["participants"][0]["test_samples"]
