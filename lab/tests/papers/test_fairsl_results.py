"""What stored runs of FairSL show beyond their claims: which steps are chance."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from securefair_lab.papers.comparison import Comparison
from securefair_lab.papers.stored import stored_result


def chance(stored: Comparison, step: str) -> float:
    """p of a one-sample t-test that the errors of neighbours do not differ, over seeds."""
    (number,) = [n for n in stored.numbers if n.metric == step]
    t = number.ours / (number.spread / math.sqrt(stored.seeds))
    return float(2 * stats.t.sf(abs(t), stored.seeds - 1))


def test_near_equals_cannot_be_told_apart_and_unequals_can() -> None:
    stored = stored_result("fairsl-table3")
    assert (stored.size, stored.seeds) == ("cpu", 5)
    assert chance(stored, "1->2") > 0.05
    assert chance(stored, "3->4") > 0.05
    assert chance(stored, "2->3") < 0.01


@pytest.mark.parametrize("name", ["fairsl-figure3", "fairsl-figure5", "fairsl-figure6"])
def test_standard_swarm_learning_leaves_no_reward_for_more_data(name: str) -> None:
    stored = stored_result(name)
    level = {
        (n.fields["method"], n.metric): n.ours for n in stored.numbers if n.metric.startswith("P")
    }
    assert level["standard SL", "P1"] == level["standard SL", "P3"]
    fair = [level["fair SL (neural network)", f"P{n}"] for n in (1, 2, 3)]
    assert fair == sorted(fair)
    assert fair[2] < level["standard SL", "P3"]


def test_near_equals_have_equal_forests_and_unequals_do_not() -> None:
    stored = stored_result("fairsl-table6")
    found = {
        step: [n.ours for n in stored.numbers if n.metric == f"p of {step}"]
        for step in ("1->2", "2->3", "3->4")
    }
    assert [len(values) for values in found.values()] == [2, 2, 2]  # two data sets
    assert min(*found["1->2"], *found["3->4"]) > 0.05
    assert max(found["2->3"]) < 0.001


def test_forests_get_better_with_every_step_on_every_data_set() -> None:
    stored = stored_result("fairsl-table5")
    steps = [n.ours for n in stored.numbers if n.metric in ("1->2", "2->3")]
    assert len(steps) == 10  # five data sets
    assert min(steps) > 0


@pytest.mark.parametrize("name", ["fairsl-figure9", "fairsl-figure10"])
def test_the_smallest_gains_by_others_trees_on_every_data_set(name: str) -> None:
    stored = stored_result(name)
    first = [n for n in stored.numbers if n.metric == "P1"]
    alone, fair, equal = (
        {n.fields["dataset"]: n.ours for n in first if n.fields["method"] == method}
        for method in ("local", "fair SL (random forest)", "standard SL")
    )
    assert alone.keys() == fair.keys() == equal.keys()
    assert all(alone[dataset] < fair[dataset] < equal[dataset] for dataset in alone)
