"""The plugin in pytest runs of its own, as its users have it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

import securefair
from securefair.errors import ConfigError, ModelError
from securefair.profiling.pytest_plugin import FheCost
from support import processes

pytestmark = pytest.mark.slow  # programs of their own

SOURCE = Path(securefair.__file__).parents[1]
GUIDE = SOURCE.parent / "docs" / "profiling.md"

TESTS = """
import pytest
import securefair as sf

HEAD = sf.build_head("linear", 3, 0, 2, seed=0)

def test_within_budget(fhe_cost):
    cost = fhe_cost(HEAD, samples=30, release="projection", q=4, repeats=2)
    fhe_cost(HEAD, samples=40, repeats=1)  # a second exchange is measured, not benchmarked
    assert fhe_cost.last.slots_used == 40
    fhe_cost.assert_below(bytes=10e6, error=0.1)

def test_over_budget(fhe_cost):
    fhe_cost(HEAD, samples=30, backend="clear", repeats=1)
    fhe_cost.assert_below(bytes=10)
"""


EDITABLE = "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning"
"""Of an editable installation's import hook; an ordinary installation has none."""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    installed = entry_points(group="pytest11", name="securefair")
    plugin = [] if installed else ["-p", "securefair.profiling.pytest_plugin"]
    words = ["-q", "-W", "error", "-W", EDITABLE, *plugin, *options]
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    # A process of pytest-xdist hands its role on by the environment, and benchmarks stay off in it.
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    return processes.run("pytest", words, cwd=folder, env={**inherited, "PYTHONPATH": path})


def test_figures_enter_the_users_own_benchmarks(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)

    done = run_pytest(tmp_path, "--benchmark-json=out.json", "--benchmark-only")

    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert re.search(r"over budget: bytes: [\d.e+]+ is not below 10", done.stdout)
    runs = {
        run["name"]: run for run in json.loads((tmp_path / "out.json").read_text())["benchmarks"]
    }
    facts = runs["test_within_budget"]["extra_info"]
    assert facts["backend"] == "rns"
    assert facts["release"] == "projection"
    assert facts["slots_used"] == 30
    assert facts["bytes"] == sum(
        facts[f"{part}_bytes"] for part in ("key", "feature", "query", "answer")
    )
    assert runs["test_within_budget"]["stats"]["rounds"] == 2


def test_the_guides_example_runs_without_pytest_benchmark(tmp_path: Path) -> None:
    (example,) = re.findall(
        r"```python\n(# test_my_head\.py\n.*?)```", GUIDE.read_text(), re.DOTALL
    )
    (tmp_path / "test_my_head.py").write_text(example)

    done = run_pytest(tmp_path, "-p", "no:benchmark")

    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE), done.stdout


def test_starting_pytest_loads_nothing_heavy() -> None:
    code = "import securefair.profiling.pytest_plugin, sys; print(*sys.modules)"
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "securefair.profiling.pytest_plugin" in done.stdout.split()
    assert not {"numpy", "torch", "_sealapi_cpp", "msgspec"} & set(done.stdout.split())


def test_a_budget_needs_a_measurement() -> None:
    with pytest.raises(ConfigError, match="measure first"):
        FheCost().assert_below(bytes=1)


def test_a_budget_is_a_number_and_there_is_one() -> None:
    measured = FheCost()
    head = securefair.build_head("linear", 3, 0, 2, seed=0)
    measured(head, samples=30, backend="clear", repeats=1)
    with pytest.raises(ConfigError, match=r"no budget .*bytes, seconds, error, peak_bytes"):
        measured.assert_below()
    with pytest.raises(ConfigError, match=r"seconds: a budget is a number"):
        measured.assert_below(bytes=5e9, seconds="10")
    measured.assert_below(bytes=np.int64(10**9))


def test_a_number_of_projections_asks_for_a_projection():
    head = securefair.build_head("linear", 3, 0, 2, seed=0)
    asked = FheCost()(head, samples=30, q=4, backend="clear", repeats=1)
    assert asked.release == "projection"
    assert FheCost()(head, samples=30, backend="clear", repeats=1).release == "logits"
    with pytest.raises(ModelError, match=r"no model that encryption evaluates .*'dict'"):
        FheCost()({}, samples=30)
