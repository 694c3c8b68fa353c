"""`make bench` and `make bench-quick` put their figures beside those of the run before."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
BENCHMARKS = """
def test_{name}(benchmark):
    benchmark.pedantic(lambda: sum(range(1000)), rounds=2)

def test_other(benchmark):
    benchmark.pedantic(lambda: sum(range(1000)), rounds=2)
"""


@pytest.fixture
def compared(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("compared")


@pytest.fixture
def shown(compared):
    """What the command prints for a folder of kept runs."""
    import typer

    app = typer.Typer()
    app.command()(compared.main)

    def run(folder):
        done = CliRunner().invoke(app, ["--kept", str(folder)])
        assert done.exit_code == 0, done.output
        return done.output

    return run


def keep(folder, number, seconds, *, at, system="Linux"):
    """As pytest-benchmark keeps a run; with fields that nobody reads here."""
    path = folder / system / f"{number:04}_commit.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {
        "machine_info": {},
        "commit_info": {"id": "0123456789abcdef", "dirty": True},
        "benchmarks": [
            {"fullname": name, "stats": {"min": least, "max": 9.0}}
            for name, least in seconds.items()
        ],
        "datetime": at,
    }
    path.write_text(json.dumps(run))


@pytest.mark.slow  # programs of their own
def test_what_pytest_benchmark_keeps_is_compared(tmp_path, shown):
    # A worker of xdist says so to its children, and benchmarks do not run in one.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    for name in ("one", "renamed"):
        (tmp_path / "test_it.py").write_text(BENCHMARKS.format(name=name))
        command = [sys.executable, "-m", "pytest", "test_it.py", "--benchmark-autosave",
                   "-p", "no:cacheprovider"]  # fmt: skip
        subprocess.run(command, cwd=tmp_path, env=alone, check=True, stdout=subprocess.DEVNULL)
        said = shown(tmp_path / ".benchmarks")
        if name == "one":
            assert "No earlier run" in said
    assert "1 benchmarks of both runs" in said
    assert "new or named otherwise: test_it.py::test_renamed" in said
    assert "Only in the run before: test_it.py::test_one" in said


def test_a_fresh_clone_has_no_run(tmp_path, shown):
    assert "No earlier run is kept" in shown(tmp_path / ".benchmarks")


def test_the_last_two_runs_of_one_python_are_compared(tmp_path, shown):
    keep(tmp_path, 1, {"a": 1.0}, at="2026-01-01T00:00:00")
    keep(tmp_path, 2, {"a": 2.0}, at="2026-01-02T00:00:00")
    keep(tmp_path, 9, {"a": 50.0}, at="2026-01-03T00:00:00", system="another")
    keep(tmp_path, 3, {"a": 3.0}, at="2026-01-04T00:00:00")
    said = shown(tmp_path)
    assert "2026-01-02T00:00, commit 01234567" in said
    assert "1.50" in said
    assert "50" not in said.replace("1.50", "")


def test_what_changed_is_listed_and_the_rest_is_counted(compared):
    before = {"slower": 0.002, "faster": 3.0, "alike": 1e-6, "gone": 1.0}
    now = {"slower": 0.004, "faster": 1.5, "alike": 1.05e-6, "new": 1.0}
    first, _, slower, faster, *rest = compared.comparison(now, before).splitlines()
    assert first.startswith("3 benchmarks of both runs: the middle one takes 1.05 of its time")
    assert "1 lie within 10%" in first
    assert slower.split() == ["2.00", "4", "ms", "2", "ms", "slower"]
    assert faster.split() == ["0.50", "1.5", "s", "3", "s", "faster"]
    assert rest == [
        "Not in the run before, new or named otherwise: new",
        "Only in the run before: gone",
    ]


def test_runs_with_nothing_in_common_say_so(compared):
    said = compared.comparison({"a": 1.0}, {"b": 1.0})
    assert "no benchmark in common" in said
    assert "a" in said.splitlines()[1]
    assert "b" in said.splitlines()[2]


def test_targets_are_put_over_those_of_the_run_before(compared, monkeypatch):
    targets = importlib.import_module("targets")
    figures = dict.fromkeys(targets.FIELDS, 2.0)
    now = {"alike": figures, "renamed": figures}
    before = {"alike": {**dict.fromkeys(targets.FIELDS, 1.0), "ahead_ms_per_sample": 0.0},
              "old name": figures}  # fmt: skip
    lines = targets.ratio_lines(now, before)
    assert lines[2:] == [
        "| alike | 2.00 | 2.00 |  | 2.00 | 2.00 |",
        "Not in the run before, new or named otherwise: renamed",
        "Only in the run before: old name",
    ]
