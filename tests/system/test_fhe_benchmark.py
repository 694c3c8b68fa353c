"""The stages of the public benchmark: processes, files between them, the right labels."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support import processes

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "bench" / "fhe_benchmark"
DATA = Path(os.environ.get("SECUREFAIR_DATA", "")) / "mnist.npz"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.exists(), reason="benchmarks are not installed"),
]


def write_digits(folder):
    """Drawn digits in the place of MNIST's, where those are not at hand: ones and zeros."""
    rng = np.random.default_rng(0)
    images = np.zeros((20, 28, 28), dtype=np.uint8)
    images[:10, 5:23, 13:16] = 255
    images[10:, 6:22, 8:20], images[10:, 9:19, 11:17] = 255, 0
    labels = np.repeat([1, 0], 10).astype(np.uint8)
    order = rng.permutation(20)
    np.savez(
        folder / "mnist.npz",
        x_train=images[order], y_train=labels[order], x_test=images[order], y_test=labels[order],
    )  # fmt: skip


@pytest.fixture
def forked(monkeypatch):
    """Stages are processes of their own all the same; the first is an interpreter of its own."""
    real, done = subprocess.run, []

    def run(command, *, check, env):
        done.append(command)
        if len(done) == 1:
            return real(command, check=check, env=env)
        _, script, *words = command
        ended = processes.run(script, words, cwd=FOLDER, env=env)
        assert ended.returncode == 0, ended.stderr
        return ended

    monkeypatch.setattr(subprocess, "run", run)
    return done


def test_one_image_goes_from_keys_to_its_label(tmp_path, monkeypatch, capsys, forked):
    if not DATA.exists():
        write_digits(tmp_path)
    out = tmp_path / "results.json"
    monkeypatch.setenv("SECUREFAIR_DATA", str(DATA.parent if DATA.exists() else tmp_path))
    monkeypatch.setenv("SECUREFAIR_BENCHMARK", "")  # what it sets goes again
    monkeypatch.syspath_prepend(FOLDER)
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
