"""Examples of the laboratory run, or say plainly what they need."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.collaboration import controls
from securefair.records import STANDALONE
from securefair.run.folder import read_result
from securefair.worth import EarlyStopping

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "lab" / "examples"
CONFIGURATIONS = sorted(path.name for path in EXAMPLES.glob("*.toml"))
NETWORKS = "network_digits.toml"
LONG = {
    "train_network.py": "images that do not come with this repository, and minutes",
    "train_on_features.py": "images that do not come with this repository, and securefair[vision]",
}

POINTS = 1.0
"""By which mean accuracy may differ on other machines: one image of one participant is 0.3."""


def run(name, arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_no_example_is_forgotten():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(LONG)
    assert NETWORKS in CONFIGURATIONS


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


def test_everyone_gains_in_the_example_of_networks_as_its_page_says(tmp_path, monkeypatch):
    """In the clear, which changes little; encrypted networks are those of test_networks.

    The control that the page tells of trains as long as a user's.
    """
    shortened = controls.EarlyStopping

    def early_stopping(**settings):
        asked = settings.get("name") == STANDALONE
        return (EarlyStopping if asked else shortened)(**settings)

    monkeypatch.setattr(controls, "EarlyStopping", early_stopping)
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
