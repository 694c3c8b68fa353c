"""CYCle's names of splits and methods become data and contenders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.data.partition import (
    DirichletPartitioner,
    IidPartitioner,
    ImbalancedPartitioner,
    Partitioner,
)
from securefair.data.pool import pool_of
from securefair.errors import ConfigError
from securefair.reproduction.cycle_methods import ALONE, CYCLE, FEDAVG, contenders
from securefair.reproduction.cycle_settings import (
    BALANCED_TEST,
    CIFAR10,
    FED_ISIC,
    SCALES,
    Setting,
    equal_classes,
    partitioner,
)


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("homogeneous", IidPartitioner(participants=5)),
        ("dirichlet(0.5)", DirichletPartitioner(participants=5, delta=0.5, min_samples=10)),
        ("imbalanced(0.35,2)", ImbalancedPartitioner(participants=5, kappa=0.35, large=2)),
    ],
)
def test_a_split_is_read_from_its_name(split: str, expected: Partitioner) -> None:
    assert partitioner(split, 5) == expected


@pytest.mark.parametrize("split", ["uniform", "dirichlet", "imbalanced(0.8)"])
def test_an_unknown_split_is_refused(split: str) -> None:
    with pytest.raises(ConfigError, match="split"):
        partitioner(split, 5)


def test_federated_methods_make_up_for_the_epochs_alone() -> None:
    setting = Setting(size="paper", data=Path(), dataset=CIFAR10, split="homogeneous", n=5)
    rounds = [c.rounds for c in contenders([setting], [ALONE, FEDAVG, CYCLE])]
    assert rounds == [75, 100, 75]
    assert SCALES["paper"].pretraining == 25


def test_fewer_centres_are_told_but_compared_with_the_papers_row() -> None:
    setting = Setting(size="cpu", data=Path(), dataset=FED_ISIC, split="natural", n=6)
    (contender,) = contenders([setting], [CYCLE])
    assert (contender.fields["n"], contender.printed_as["n"]) == (4, 6)


def test_rare_classes_are_repeated_for_balanced_accuracy() -> None:
    labels = np.array([0] * 900 + [1] * 30)
    pool = pool_of(Samples(np.arange(930.0)[:, None], labels, 2))
    balanced = equal_classes(pool)
    assert np.bincount(balanced.labels).tolist() == [BALANCED_TEST] * 2
    rare = balanced.samples().features[balanced.labels == 1, 0]
    assert set(rare) == set(np.arange(900.0, 930.0))
