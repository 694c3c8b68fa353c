"""Every example runs, or says plainly what it needs; the library's shows how little it changes."""

import ast
import difflib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.run.folder import read_result
from securefair.worth import tuned

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CONFIGURATIONS = sorted(path.name for path in EXAMPLES.glob("*.toml"))
NETWORKS = "network_digits.toml"
SCRIPTS = {
    "ordinary_training.py": ["2"],
    "python_api.py": ["1"],
}
ESTIMATOR = "sklearn_user.py"
LONG = {
    "train_network.py": "images that do not come with this repository, and minutes",
    "train_on_features.py": "images that do not come with this repository, and securefair[vision]",
}
MOST_LINES = 10
"""Of an ordinary training script that may change."""

POINTS = 1.0
"""By which mean accuracy may differ on other machines: one image of one participant is 0.3."""


@pytest.fixture(scope="module", autouse=True)
def fits_once():
    """Scripts are run for one round and for twenty: what everyone fits alone is the same."""
    kept, fitted = {}, tuned.own_fits

    def once(participants, degree, seed):
        own = tuple(
            (one.name, one.train.features.tobytes(), one.train.labels.tobytes())
            for one in participants
        )
        key = own, degree, seed
        if key not in kept:
            kept[key] = fitted(participants, degree, seed)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned, "own_fits", once)
        yield


def run(name, arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_no_example_is_forgotten():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        ESTIMATOR,
        *SCRIPTS,
        *LONG,
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


@pytest.mark.parametrize("name", LONG)
def test_long_scripts_say_what_they_need(name, monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        run(name, ["--help"], monkeypatch)
    assert ended.value.code == 0
    assert "--data" in capsys.readouterr().out
    pytest.skip(f"only its --help ran: the rest needs {LONG[name]}")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("train_network.py", ["mnist", "--out", "mnist.npz"], "mnist.npz"),
        ("train_network.py", ["derma", "--distil", "--out", "x.npz"], "mirror images only"),
        ("train_network.py", ["mnist", "--epochs", "0", "--out", "x.npz"], "--epochs"),
        ("train_network.py", ["cats", "--out", "x.npz"], "cifar-wide"),
        ("train_on_features.py", ["--cache", "cache"], "cifar10.npz"),
    ],
)
def test_long_scripts_refuse_before_they_train(
    name, arguments, said, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        run(name, [*arguments, "--data", str(tmp_path)], monkeypatch)
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert ended.value.code == 2, told
    assert said in told
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def run_configuration(name, out, *options):
    done = CliRunner().invoke(app, ["run", str(EXAMPLES / name), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    assert (out / "report.html").is_file()


@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name != NETWORKS])
def test_configurations_run(name, tmp_path):
    """One round on one seed."""
    run_configuration(name, tmp_path, "--rounds", "1", "--seeds", "1")


def test_everyone_gains_in_the_example_of_networks_as_its_page_says(tmp_path):
    """In the clear, which changes little; encrypted networks are those of test_networks."""
    run_configuration(NETWORKS, tmp_path, "--backend", "clear")
    found = read_result(tmp_path)[0].algorithms
    alone, together = (100 * np.array(found[name].accuracy) for name in ("standalone", "cycle"))
    gains = together - alone
    assert gains.min() > 0
    page = " ".join((ROOT / "docs/networks.md").read_text("utf-8").split())
    (means,) = re.findall(r"in the clear is ([\d.]+) % alone and ([\d.]+) % together", page)
    (ends,) = re.findall(r"Everyone gains \(([\d.]+) to ([\d.]+) points\)", page)
    assert (alone.mean(), together.mean()) == pytest.approx(tuple(map(float, means)), abs=POINTS)
    assert (gains.min(), gains.max()) == pytest.approx(tuple(map(float, ends)), abs=2 * POINTS)


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
