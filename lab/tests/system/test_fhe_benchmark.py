"""The stages of the public benchmark: processes, files between them, the right labels."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from securefair import plan_exchange
from securefair_lab.data.images import load_mnist
from support import processes

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "bench" / "fhe_benchmark"
DATA = Path(os.environ.get("SECUREFAIR_DATA", "")) / "mnist.npz"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.exists(), reason="benchmarks are not installed"),
]


def write_digits(folder):
    """Drawn digits in the place of MNIST's, where those are not at hand: ones and zeros."""
    rng = np.random.default_rng(0)
    images = np.zeros((100, 28, 28), dtype=np.uint8)
    images[:50, 5:23, 13:16] = 255
    images[50:, 6:22, 8:20], images[50:, 9:19, 11:17] = 255, 0
    labels = np.repeat([1, 0], 50).astype(np.uint8)
    order = rng.permutation(100)
    np.savez(
        folder / "mnist.npz",
        x_train=images[order], y_train=labels[order], x_test=images[order], y_test=labels[order],
    )  # fmt: skip


@pytest.fixture
def data(tmp_path):
    """The folder with the digits."""
    if not DATA.exists():
        write_digits(tmp_path)
        return tmp_path
    return DATA.parent


@pytest.fixture
def forked(monkeypatch, data):
    """Stages are processes of their own all the same; the first of one image is an interpreter."""
    monkeypatch.setenv("SECUREFAIR_DATA", str(data))
    monkeypatch.setenv("SECUREFAIR_BENCHMARK", "")  # what it sets goes again
    monkeypatch.syspath_prepend(FOLDER)
    real, done = subprocess.run, []

    def run(command, *, check, env):
        done.append(command)
        if len(done) == 1 and command[-1] == "single":
            return real(command, check=check, env=env)
        _, script, *words = command
        ended = processes.run(script, words, cwd=FOLDER, env=env)
        assert ended.returncode == 0, ended.stderr
        return ended

    monkeypatch.setattr(subprocess, "run", run)
    return done


def test_one_image_goes_from_keys_to_its_label(tmp_path, monkeypatch, capsys, forked):
    out = tmp_path / "results.json"
    monkeypatch.setattr(sys, "argv", ["run.py", "--sizes", "single", "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")
    assert ended.value.code == 0
    assert len(forked) == 2 * 7
    runs = json.loads(out.read_text())["runs"]
    assert [(r["images"], r["flooding_bits"]) for r in runs] == [(1, 30), (1, 0)]
    for r in runs:
        assert r["quality"]["agreement"] == 1
        assert r["security_bits"] == 128
        assert set(r["timing"]) >= {"Key Generation", "Input encryption", "Encrypted computation"}
        assert r["bandwidth"]["Encrypted input"] > r["bandwidth"]["Encrypted results"] > 0
    assert "| 1 | 30 |" in capsys.readouterr().out


def test_a_hundred_images_go_with_features_beside_each_other(tmp_path, data, forked):
    """The other way through the stages: one image alone travels as products of its features."""
    benchmark = runpy.run_path(str(FOLDER / "run.py"))
    result = benchmark["run"]("small", 30, load_mnist(data), tmp_path / "run")
    assert len(forked) == 7
    keys = result["bandwidth"]["Public and evaluation keys"]
    plan = plan_exchange(runpy.run_path(str(FOLDER / "task.py"))["spec"](100))
    assert plan.schedule.parts == 32
    assert plan.public_key_bytes < keys <= plan.key_bytes
    assert result["images"] == 100
    assert result["quality"]["agreement"] == 1
    assert result["quality"]["max_abs_error"] < 1
    assert result["bandwidth"]["Encrypted input"] > plan.feature_bytes
