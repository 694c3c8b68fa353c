"""What FairSL's networks train on at each size."""

from __future__ import annotations

import pytest

from securefair.errors import ConfigError
from securefair_lab.papers.fairsl_forests import FOUR, THREE
from securefair_lab.papers.fairsl_settings import (
    FASHION,
    HUNDRED,
    REUTERS,
    TASKS,
    Setting,
    available,
)


def test_a_substitute_is_named_as_what_it_is_and_compared_as_what_it_stands_for() -> None:
    reduced = Setting(task=FASHION, size="cpu", data=None, ratios=THREE)
    assert reduced.fields["dataset"] == "MNIST (for Fashion-MNIST)"
    assert reduced.printed == {"dataset": "Fashion-MNIST", "split": "0.1/0.3/0.6", "n": 3}
    whole = Setting(task=FASHION, size="paper", data=None, ratios=THREE)
    assert whole.fields == whole.printed


def test_a_size_says_which_data_sets_it_does_not_have() -> None:
    assert HUNDRED not in available(TASKS, "cpu")
    assert available(TASKS, "paper") == list(TASKS)
    assert len(available(TASKS, "smoke")) == 1
    with pytest.raises(ConfigError, match="CIFAR-100"):
        Setting(task=HUNDRED, size="cpu", data=None, ratios=THREE)


def test_the_paper_s_epochs_and_batches_are_table_1_s() -> None:
    found = [(task.sizes["paper"].epochs, task.sizes["paper"].batch) for task in TASKS]
    assert found == [(100, 128), (30, 128), (100, 32), (200, 128)]
    assert REUTERS.limit is None
    assert FASHION.limit == 3000


def test_rates_fall_further_where_participants_are_equal_in_pairs() -> None:
    of_three = Setting(task=FASHION, size="cpu", data=None, ratios=THREE).rate_factors
    of_four = Setting(task=FASHION, size="cpu", data=None, ratios=FOUR).rate_factors
    assert (len(of_three), len(of_four)) == (3, 4)
    assert of_four == tuple(sorted(of_four, reverse=True))
    assert of_four[1] < of_three[1]
