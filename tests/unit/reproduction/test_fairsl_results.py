"""What stored runs of FairSL's networks show beyond their claims: which steps are chance."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from scipy import stats

from securefair.report import read_json
from securefair.reproduction.comparison import Comparison

DATA = Path(__file__).parent / "data"


def chance(stored: Comparison, step: str) -> float:
    """p of a one-sample t-test that the errors of neighbours do not differ, over seeds."""
    (number,) = [n for n in stored.numbers if n.metric == step]
    t = number.ours / (number.spread / math.sqrt(stored.seeds))
    return float(2 * stats.t.sf(abs(t), stored.seeds - 1))


def test_near_equals_cannot_be_told_apart_and_unequals_can() -> None:
    stored = read_json(DATA / "fairsl-table3.json", Comparison)
    assert (stored.size, stored.seeds) == ("cpu", 5)
    assert chance(stored, "1->2") > 0.05
    assert chance(stored, "3->4") > 0.05
    assert chance(stored, "2->3") < 0.01


@pytest.mark.parametrize("name", ["fairsl-figure3", "fairsl-figure5", "fairsl-figure6"])
def test_standard_swarm_learning_leaves_no_reward_for_more_data(name: str) -> None:
    stored = read_json(DATA / f"{name}.json", Comparison)
    level = {
        (n.fields["method"], n.metric): n.ours for n in stored.numbers if n.metric.startswith("P")
    }
    assert level["standard SL", "P1"] == level["standard SL", "P3"]
    fair = [level["fair SL (neural network)", f"P{n}"] for n in (1, 2, 3)]
    assert fair == sorted(fair)
    assert fair[2] < level["standard SL", "P3"]
