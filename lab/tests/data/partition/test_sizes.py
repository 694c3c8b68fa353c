import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition import (
    IidPartitioner,
    ImbalancedPartitioner,
    PowerLawPartitioner,
    RatioPartitioner,
)
from securefair_lab.data.partition.interface import apportion

CIFAR = np.repeat(np.arange(10), 500)  # CIFAR-10's balance at a tenth of its size


def counts(partitioner, labels, seed=0):
    """Samples of each participant (rows) and class (columns)."""
    parts = partitioner.partition(labels, np.random.default_rng(seed))
    return np.array([np.bincount(labels[part], minlength=10) for part in parts])


@given(
    st.integers(0, 1000),
    st.lists(st.floats(0, 1), min_size=1, max_size=12).filter(lambda s: sum(s) > 0.01),
    st.integers(0, 3),
)
def test_apportion_adds_up_and_stays_within_one(total, weights, seed):
    shares = np.array(weights) / sum(weights)
    parts = apportion(total, shares, np.random.default_rng(seed))
    assert parts.sum() == total
    assert (np.abs(parts - total * shares) < 1 + 1e-6).all()
    assert (parts >= 0).all()


def test_apportion_favours_nobody_among_equals():
    rng = np.random.default_rng(0)
    parts = sum(apportion(7, np.full(5, 0.2), rng) for _ in range(1000))
    assert parts.sum() == 7000
    assert (np.abs(parts - 1400) < 80).all()  # standard deviation 15.5


def test_homogeneous_is_equal_per_class():
    assert (counts(IidPartitioner(participants=5), CIFAR) == 100).all()


def test_homogeneous_gives_the_remainder_to_the_last():
    labels = np.repeat(np.arange(2), (13, 11))
    assert counts(IidPartitioner(participants=4), labels)[:, :2].tolist() == [
        [3, 2],
        [3, 2],
        [3, 2],
        [4, 5],
    ]


@pytest.mark.parametrize(
    ("kappa", "large", "fractions"),
    [  # the paper's splits of Table 13 and App. G.8
        (0.8, 1, [0.8, 0.05, 0.05, 0.05, 0.05]),
        (0.35, 2, [0.35, 0.35, 0.1, 0.1, 0.1]),
        (0.6, 1, [0.6, 0.1, 0.1, 0.1, 0.1]),
        (0.12, 1, [0.12, 0.22, 0.22, 0.22, 0.22]),
        (0.23, 2, [0.23, 0.23, 0.18, 0.18, 0.18]),
    ],
)
def test_imbalanced_splits_of_the_paper(kappa, large, fractions):
    found = counts(ImbalancedPartitioner(participants=5, kappa=kappa, large=large), CIFAR)
    assert (found == np.round(500 * np.array(fractions))[:, None]).all()


@given(st.lists(st.integers(20, 90), min_size=2, max_size=6), st.integers(0, 3))
def test_ratios_hold_in_every_class_to_within_one(sizes, seed):
    labels, ratios = np.repeat(np.arange(len(sizes)), sizes), (0.1, 0.3, 0.6)
    found = counts(RatioPartitioner(ratios=ratios), labels, seed)[:, : len(sizes)]
    assert (np.abs(found - np.outer(ratios, sizes)) < 1 + 1e-9).all()


def test_power_law_of_cffl():
    found = counts(PowerLawPartitioner(participants=5, samples=3000), CIFAR).sum(axis=1)
    assert found.tolist() == [200, 400, 600, 800, 1000]
    steeper = counts(PowerLawPartitioner(participants=5, exponent=2), CIFAR).sum(axis=1)
    assert steeper == pytest.approx(5000 * np.arange(1, 6) ** 2 / 55, abs=1)


@given(st.integers(1, 20), st.floats(0, 3), st.integers(0, 3))
def test_power_law_grows_from_first_to_last(participants, exponent, seed):
    partitioner = PowerLawPartitioner(participants=participants, exponent=exponent)
    try:
        sizes = counts(partitioner, CIFAR, seed).sum(axis=1)
    except DataError:  # the first participant's share rounds to nothing
        weights = np.arange(1, participants + 1.0) ** exponent
        assert 5000 / weights.sum() < 1
        return
    assert (np.diff(sizes) >= 0).all()
    assert sizes.sum() == 5000


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: IidPartitioner(participants=0), "participants"),
        (lambda: RatioPartitioner(ratios=()), "ratios"),
        (lambda: RatioPartitioner(ratios=(0.5, 0.6)), "ratios"),
        (lambda: RatioPartitioner(ratios=(1.5, -0.5)), "ratios"),
        (lambda: ImbalancedPartitioner(participants=5, kappa=0.5, large=2), "kappa"),
        (lambda: ImbalancedPartitioner(participants=5, kappa=0.0), "kappa"),
        (lambda: ImbalancedPartitioner(participants=2, kappa=0.3, large=2), "large"),
        (lambda: ImbalancedPartitioner(participants=2, kappa=0.3, large=0), "large"),
        (lambda: PowerLawPartitioner(participants=3, exponent=-1), "exponent"),
        (lambda: PowerLawPartitioner(participants=3, samples=2), "samples"),
    ],
)
def test_impossible_settings_are_refused_by_name(build, named):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        build()


@pytest.mark.parametrize(
    "partitioner",
    [
        IidPartitioner(participants=4),
        ImbalancedPartitioner(participants=4, kappa=0.9),
        RatioPartitioner(ratios=(0.01, 0.99)),
        PowerLawPartitioner(participants=4, exponent=9),
    ],
)
def test_an_empty_participant_is_refused_with_a_hint(partitioner):
    labels = np.repeat(np.arange(3), 3)
    with pytest.raises(DataError, match=r"would hold too few samples .*Use"):
        partitioner.partition(labels, np.random.default_rng(0))


def test_more_samples_wanted_than_there_are():
    with pytest.raises(DataError, match="samples: more samples wanted"):
        counts(PowerLawPartitioner(participants=5, samples=6000), CIFAR)
