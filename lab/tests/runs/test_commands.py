"""`securefair compare`, `bundle` and `run --log` as a researcher meets them."""

import csv
import json
import shutil

import numpy as np
import pytest

from securefair.config import parse_config
from securefair_lab.runs.bundle import without_paths
from support.commands import ALONE, invoke, prepared

__all__ = ["invoke", "prepared"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(prepared):
    """Two runs of heart patients, and one of tables."""
    folder, invoke = prepared
    (folder / "c.toml").write_text(ALONE)
    for name in ("a", "b"):
        invoke("run", "c.toml", "--out", name)
    for name, offset in (("north", 0), ("south", 2)):
        rows = [
            f"{20 + (3 * i + offset) % 60},{i % 2},{'yes' if i % 3 else 'no'}" for i in range(40)
        ]
        (folder / f"{name}.csv").write_text("age,smoker,ill\n" + "\n".join(rows) + "\n")
    invoke("new", "p", "--data", "north.csv", "--data", "south.csv", "--label", "ill")
    invoke("run", "p/config.toml", "--backend", "clear", "--out", "out")
    return folder


@pytest.fixture
def runs(finished, tmp_path):
    return shutil.copytree(finished, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def project(runs):
    shutil.rmtree(runs / "runs", ignore_errors=True)
    return runs


@pytest.mark.usefixtures("runs")
class TestCompare:
    def test_runs_stand_side_by_side(self, invoke, runs):
        result = invoke("compare", "a", "b", "--html", "page.html")
        assert result.exit_code == 0, result.output
        assert result.stdout.count("Alone") == 2
        assert (runs / "page.html").exists()

    def test_json_is_all_that_stdout_gets(self, invoke):
        facts = json.loads(invoke("compare", "a", "b", "--json").stdout)
        assert [run["folder"] for run in facts["runs"]] == ["a", "b"]

    def test_a_folder_in_the_way_of_the_page_is_named(self, invoke, runs):
        (runs / "taken").mkdir()
        result = invoke("compare", "a", "b", "--html", "taken")
        assert (result.exit_code, result.stderr) == (
            2,
            "securefair: taken: a file is wanted, and this is none\n",
        )

    def test_one_run_is_refused(self, invoke):
        result = invoke("compare", "a")
        assert result.exit_code == 2
        assert "two different runs" in result.stderr

    def test_no_page_is_replaced_unasked(self, invoke, runs):
        (runs / "mine.html").write_text("mine")
        refused = invoke("compare", "a", "b", "--html", "mine.html")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert "exists already" in refused.stderr
        assert (runs / "mine.html").read_text() == "mine"
        assert "what its name says" in invoke("compare", "a", "b", "--html", "c.pdf").stderr


def test_numbers_are_compared_without_accuracy(invoke, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("north", "south"):
        rows = [f"{age},{2 * age + rng.normal():.2f}" for age in rng.integers(20, 80, 45)]
        (tmp_path / f"{name}.csv").write_text("age,dose\n" + "\n".join(rows) + "\n")
    new = ("new", "n", "--data", "north.csv", "--data", "south.csv", "--label", "dose")
    assert invoke(*new, "--outcome", "number").exit_code == 0
    for out in ("r1", "r2"):
        quiet = ("--quiet", "--backend", "clear", "--out", out)
        assert invoke("run", "n/config.toml", *quiet).exit_code == 0
    done = invoke("compare", "r1", "r2", "--html", "c.html")
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "og-likelihood" in said
    assert "accuracy" not in said
    assert "Accuracy of each participant" not in (tmp_path / "c.html").read_text()


def test_a_run_is_bundled_without_patients(invoke, finished, tmp_path):
    run = finished / "out"
    done = invoke("bundle", run, "--out", "bundle")
    assert done.exit_code == 0, done.output
    bundle = tmp_path / "bundle"
    assert {p.relative_to(bundle).as_posix() for p in bundle.rglob("*") if p.is_file()} == {
        "README.md", "config.toml", "versions.json", "seeds.json", "metrics.csv", "summary.json",
        "tables/scores.tex", "tables/gains.tex",
    }  # fmt: skip
    rows = list(csv.DictReader((bundle / "metrics.csv").read_text().splitlines()))
    assert {row["hospital"] for row in rows} == {"north", "south"}
    metrics = json.loads((run / "metrics.json").read_text())["algorithms"]["transfer"]["metrics"]
    (found,) = (
        float(row["value"])
        for row in rows
        if (row["algorithm"], row["score"], row["hospital"]) == ("transfer", "log_loss", "north")
    )
    assert found == metrics["log_loss"]["by_hospital"]["north"]
    config = (bundle / "config.toml").read_text()
    assert 'file = "north.csv"' in config
    assert str(tmp_path.parent) not in config  # nor where it ran
    assert "confusion" not in (bundle / "summary.json").read_text()
    assert "not told" not in json.dumps(
        json.loads((bundle / "summary.json").read_text())["class_counts"]
    )
    assert invoke("bundle", run, "--out", "bundle").exit_code == 0  # replaces its own files only
    (bundle / "patients.csv").write_text("")
    assert invoke("bundle", run, "--out", "bundle").exit_code == 2
    first = invoke("bundle", run, "--out", "b.zip", "--json")
    assert json.loads(first.stdout)["files"][0] == "README.md"
    packed = (tmp_path / "b.zip").read_bytes()
    assert "--force" in invoke("bundle", run, "--out", "b.zip").stderr
    invoke("bundle", run, "--out", "b.zip", "--force")
    assert (tmp_path / "b.zip").read_bytes() == packed
    refused = invoke("bundle", run, "--out", "m.pdf")
    assert (refused.exit_code, "a folder, or one file that ends in .zip" in refused.stderr) == (
        2,
        True,
    )
    assert not (tmp_path / "m.pdf").exists()


def test_no_folder_and_no_server_is_named():
    config = parse_config(
        """
[run]
name = "r"
[data]
source = "files"
[table]
label = "ill"
[[table.columns]]
name = "photo"
kind = "image"
architecture = "resnet18"
weights = "/x/deep/net.safetensors"
sha256 = "%s"
features = 5
[[participants]]
name = "north"
data = "postgresql://user@server/clinic?query=SELECT 1"
[[participants]]
name = "south"
file = "/x/deep/south.csv"
"""
        % ("0" * 64),
        source="test",
    )
    told = without_paths(config)
    assert told.table.columns[0].weights.as_posix() == "net.safetensors"
    assert told.participants[0].data == "postgresql://clinic?query=SELECT 1"
    assert told.participants[1].file.as_posix() == "south.csv"


def test_a_run_is_logged_with_its_cards(invoke, project, tmp_path):
    pytest.importorskip("tensorboard")
    options = ("--backend", "clear", "--log", "tensorboard:boards")
    done = invoke("run", "p/config.toml", *options)
    assert done.exit_code == 0, done.output
    assert list((tmp_path / "boards").glob("events.*"))
    done = invoke("run", "p/config.toml", "--out", "other", "--log", "wandb")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "found 'wandb', expected 'mlflow or tensorboard'" in done.stderr
    for wrong in ("tensorboard", "mlflow:here"):
        done = invoke("run", "p/config.toml", "--out", "other", "--log", wrong)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "other").exists()
