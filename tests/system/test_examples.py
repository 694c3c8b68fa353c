"""Every example runs; the library's shows how little it changes."""

import ast
import difflib
import re
import runpy
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from securefair.cli import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CONFIGURATIONS = sorted(path.name for path in EXAMPLES.glob("*.toml"))
SCRIPTS = {
    "ordinary_training.py": ["2"],
    "python_api.py": ["1"],
}
ESTIMATOR = "sklearn_user.py"
OPINION, TEACHERS = "second_opinion.py", "different_teachers.py"
MOST_LINES = 10
"""Of an ordinary training script that may change."""


def run(name, arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_no_example_is_forgotten():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        ESTIMATOR,
        *SCRIPTS,
        OPINION,
        TEACHERS,
    }
    assert CONFIGURATIONS


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run(name, monkeypatch, capsys):
    run(name, SCRIPTS[name], monkeypatch)
    shown = capsys.readouterr().out
    assert re.findall(r"^(\w+): \d+\.\d%", shown, re.MULTILINE) == ["North", "South", "East"]


def test_the_estimator_gains_from_its_peers(monkeypatch, capsys):
    run(ESTIMATOR, [], monkeypatch)
    shown = capsys.readouterr().out
    alone, peers, kept = map(float, re.findall(r"log-loss (\d\.\d+)", shown))
    assert peers < alone
    assert kept < alone
    assert re.search(r"features by importance: \[0, 1, 2\]", shown)


def test_a_second_opinion_is_that_of_the_forest(monkeypatch, capsys):
    run(OPINION, [], monkeypatch)
    shown = capsys.readouterr().out
    opinion, forest = map(float, re.findall(r"(\d\.\d+) by the", shown))
    assert opinion == pytest.approx(forest, abs=0.1)
    question, answer = map(int, re.findall(r"(\d+) kB", shown))
    assert question < 150
    assert answer < 50


@pytest.mark.parametrize(
    ("hospitals", "others"),
    [([], {"West": "MLPClassifier", "East": "LogisticRegression"}), (["1", "two"], {})],
)
def test_a_small_clinic_learns_from_models_of_different_kinds(
    hospitals, others, monkeypatch, capsys
):
    run(TEACHERS, ["clear", *hospitals], monkeypatch)
    shown = capsys.readouterr().out
    models = dict(re.findall(r"^(\w+) \((\w+)\): its stand-in", shown, re.MULTILINE))
    assert models == {"North": "forest"} | others
    losses = dict(re.findall(r"^Small, ([\w-]+): log-loss (\d\.\d+)", shown, re.MULTILINE))
    assert float(losses.pop("transfer")) < min(map(float, losses.values()))
    assert float(re.search(r"sent (\d\.\d+) MB", shown)[1]) <= 1.5


def test_who_has_the_fewest_samples_gains_most_from_the_collaboration(monkeypatch, capsys):
    """What the script prints with its own number of rounds; the backend changes no accuracy.

    Gains are over tuned training alone, and the largest hospital has none.
    """
    run("python_api.py", ["20", "clear"], monkeypatch)
    shown = capsys.readouterr().out
    gains = [float(gain) for gain in re.findall(r", ([+-]\d+\.\d)% by peers", shown)]
    assert len(gains) == 3
    assert gains[0] == max(gains)
    assert gains[0] > 1
    assert re.search(r"^\d+ numbers were disclosed in all$", shown, re.MULTILINE)


def run_configuration(name, out, *options):
    done = CliRunner().invoke(app, ["run", str(EXAMPLES / name), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    assert (out / "report.html").is_file()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configurations_run(name, tmp_path):
    """One round on one seed."""
    run_configuration(name, tmp_path, "--rounds", "1", "--seeds", "1")


def changed_lines(before, after):
    """Lines of code that differ: the larger number of those taken out and those put in."""
    lines = [code(EXAMPLES / name) for name in (before, after)]
    differences = list(difflib.unified_diff(*lines, n=0, lineterm=""))[2:]
    return max(sum(one.startswith(sign) for one in differences) for sign in "-+")


def code(path):
    """A script's lines without the text that introduces it and without empty lines."""
    text = path.read_text(encoding="utf-8")
    first, *_ = ast.parse(text).body
    return [line for line in text.splitlines()[first.end_lineno :] if line.strip()]


def test_at_most_ten_lines_of_a_training_script_change():
    changed = changed_lines("ordinary_training.py", "python_api.py")
    words = {7: "Seven", 8: "Eight", 9: "Nine", 10: "Ten"}
    assert 0 < changed <= MOST_LINES
    assert f"{words[changed]} lines differ" in (EXAMPLES / "python_api.py").read_text("utf-8")
    assert f"{words[changed].lower()} lines differ" in (ROOT / "docs/api.md").read_text("utf-8")
