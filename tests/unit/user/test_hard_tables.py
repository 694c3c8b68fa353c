"""Tables that are hard to learn from: `new` and `run` with the defaults take them as they are."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from securefair.cli import app
from support.script_contract import assert_contract

RARE, COLOURS, STAGES = 0.05, ("amber", "blue", "red"), ("I", "II", "III")


def called(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def hospitals(tmp_path, monkeypatch):
    """Writes tables by name; from `new` to metrics.json."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(tables, label, **settings):
        given = []
        for name, lines in tables.items():
            (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
            given += ["--data", f"{name}.csv"]
        said = called("new", "p", *given, "--label", label)
        config = tmp_path / "p" / "config.toml"
        for key, value in settings.items():
            text, changes = re.subn(
                rf"(?m)^(# )?{key} =.*$", f'{key} = "{value}"', config.read_text()
            )
            assert changes == 1
            config.write_text(text)
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


@pytest.mark.slow  # whole runs, as all that begin with `new`
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
    sentence = metrics["algorithms"]["transfer"]["verdict"]["sentence"]
    assert " ".join(sentence.split()) in " ".join(shown.split())
    assert "the model says the same class" in " ".join(shown.split())
    transfer = metrics["algorithms"]["transfer"]
    assert "east" in transfer["nearly_constant"]
    losses = transfer["metrics"]["log_loss"]["by_hospital"]
    assert all(np.isfinite(list(losses.values())))
    assert metrics["class_counts"]["east"] == [40, 0]


@pytest.mark.slow
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
    assert_contract(metrics, ["x", "y", "z"], learnt=["transfer"])
    assert metrics["classes"] == list(STAGES)
    scores = {name: one["metrics"]["log_loss"] for name, one in metrics["algorithms"].items()}
    assert scores["transfer"]["mean"] < scores["most_common"]["mean"]
    matrix = np.array(metrics["algorithms"]["transfer"]["confusion"]["x"])
    assert matrix.shape == (3, 3)
    assert matrix.sum() == metrics["participants"][0]["test_samples"]


def measured(count, seed, labels, constant=False):
    """Three measurements of which the label, one of several names, is a noisy function."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3))
    cuts = np.linspace(-0.7, 0.7, len(labels) - 1) if len(labels) > 2 else [0.0]
    y = np.digitize(x @ [1, -1, 0.5] + rng.normal(0, 0.5, count), cuts)
    rows = (f"{50 + 10 * a:.0f},{120 + 15 * b:.0f},{5 + c:.1f}" for a, b, c in x)
    return [
        "age,pressure,sugar,ill",
        *(f"{'50,120,5' if constant else row},{labels[c]}" for row, c in zip(rows, y, strict=True)),
    ]


@pytest.mark.slow
def test_three_weighted_classes_compared_by_auc(hospitals):
    tables = {name: measured(45, seed, ("low", "mid", "high")) for seed, name in enumerate("xyz")}
    _, _, metrics = hospitals(tables, "ill", metric="auc", class_weight="balanced")
    assert_contract(metrics, ["x", "y", "z"], learnt=["transfer"])
    assert metrics["metric"] == "auc"
    transfer = metrics["algorithms"]["transfer"]
    best = transfer["best_control"]
    gain = transfer["gain_over_best_control"]["auc"]["mean"]
    scores = {name: one["metrics"]["auc"]["mean"] for name, one in metrics["algorithms"].items()}
    assert scores[best] == max(value for name, value in scores.items() if name != "transfer")
    assert gain == pytest.approx(scores["transfer"] - scores[best], abs=1e-4)


@pytest.mark.slow
def test_two_hospitals_and_labels_one_and_two(hospitals):
    tables = {name: measured(40, seed, ("1", "2")) for seed, name in enumerate("xy")}
    _, _, metrics = hospitals(tables, "ill")
    assert_contract(metrics, ["x", "y"], learnt=["transfer"])
    assert metrics["classes"] == ["1", "2"]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"x": measured(40, 0, "01")}, "two tables or more"),
        ({n: measured(40, 0, "01", constant=True) for n in "xy"}, "age: always the same"),
        ({"x": measured(40, 0, "01"), "y": measured(1, 1, "01")}, "participant y: too few samples"),
        ({n: [*measured(9, 0, "01")[:1], "1,2,3,0", "2,2,2,0"] for n in "xy"}, "a few classes"),
    ],
)
def test_what_no_collaboration_can_be_made_of_is_one_clear_line(tmp_path, tables, words):
    given = []
    for name, lines in tables.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        given += ["--data", str(tmp_path / f"{name}.csv")]
    done = CliRunner().invoke(app, ["new", str(tmp_path / "p"), *given, "--label", "ill"])
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "p").exists()
