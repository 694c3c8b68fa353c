import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition import (
    ClassLadderPartitioner,
    DirichletPartitioner,
    PathologicalPartitioner,
)

LABELS = np.repeat(np.arange(10), 120)


def counts(partitioner, seed=0, labels=LABELS):
    """Samples of each participant (rows) and class (columns)."""
    parts = partitioner.partition(labels, np.random.default_rng(seed))
    return np.array([np.bincount(labels[part], minlength=10) for part in parts])


def test_dirichlet_by_class_skews_classes_and_by_quantity_only_sizes():
    by_class = counts(DirichletPartitioner(participants=5, delta=0.5))
    by_quantity = counts(DirichletPartitioner(participants=5, delta=0.5, by="quantity"))
    assert np.ptp(by_quantity.sum(axis=1)) > 50
    assert (np.ptp(by_quantity, axis=1) <= 1).all()  # the same share of every class
    assert np.ptp(by_class, axis=1).max() > 50


def test_dirichlet_shares_have_the_distributions_moments():
    shares = np.concatenate(
        [counts(DirichletPartitioner(participants=4, delta=0.5), s).T / 120 for s in range(40)]
    )  # 400 draws of Dir_4(0.5): each share has mean 1/4 and variance (1/4)(3/4)/(4 * 0.5 + 1)
    assert shares.mean(axis=0) == pytest.approx(0.25, abs=4 * np.sqrt(0.0625 / 400))
    assert shares.var(axis=0) == pytest.approx(0.0625, abs=0.012)


@pytest.mark.parametrize("by", ["class", "quantity"])
def test_a_large_delta_approaches_equal_shares(by):
    found = counts(DirichletPartitioner(participants=4, delta=1e6, by=by))
    assert (np.abs(found - 30) <= 2).all()


def test_dirichlet_redraws_until_everyone_has_enough():
    spec = DirichletPartitioner(participants=5, delta=0.2, min_samples=100)
    assert min(counts(spec, seed).sum(axis=1).min() for seed in range(5)) >= 100
    least = [
        counts(DirichletPartitioner(participants=5, delta=0.2), seed).sum(axis=1).min()
        for seed in range(5)
    ]
    assert min(least) < 100


def test_a_minimum_that_no_draw_meets_is_refused_with_a_hint():
    spec = DirichletPartitioner(participants=10, delta=0.01, min_samples=100)
    with pytest.raises(DataError, match=r"'at least 100'\)\. Use a larger delta .*draws"):
        counts(spec)


@given(st.integers(2, 12), st.integers(1, 10), st.none() | st.floats(0.1, 5), st.integers(0, 3))
def test_pathological_holds_at_most_c_classes_and_every_class_has_holders(n, c, delta, seed):
    partitioner = PathologicalPartitioner(participants=n, classes_each=c, delta=delta)
    if n * c < 10:
        with pytest.raises(DataError, match="cannot be dealt"):
            counts(partitioner, seed)
        return
    held = counts(partitioner, seed) > 0
    assert held.any(axis=0).all()
    assert (held.sum(axis=1) <= c).all()
    if delta is None:  # nobody's share is small enough to vanish
        assert (held.sum(axis=1) == c).all()
        assert np.ptp(held.sum(axis=0)) <= 1


def test_pathological_even_shares_are_equal():
    found = counts(PathologicalPartitioner(participants=10, classes_each=3, delta=None))
    assert set(found[found > 0]) == {40}


def test_pathological_deals_other_classes_for_other_seeds():
    partitioner = PathologicalPartitioner(participants=10, classes_each=3, delta=None)
    assert (counts(partitioner, 0) != counts(partitioner, 1)).any()


def test_pathological_skips_classes_that_do_not_occur():
    labels = np.repeat([2, 5, 7], 30)
    found = counts(PathologicalPartitioner(participants=3, classes_each=1), labels=labels)
    assert sorted(found.sum(axis=1)) == [30, 30, 30]


def test_nobody_can_hold_more_classes_than_there_are():
    with pytest.raises(DataError, match=r"classes_each: .*found 11, expected '2 to 10'"):
        counts(PathologicalPartitioner(participants=5, classes_each=11))


def test_class_ladder_of_cffl():
    found = counts(ClassLadderPartitioner(participants=5, samples_each=60))
    assert (found > 0).sum(axis=1).tolist() == [1, 3, 5, 7, 10]
    assert (found.sum(axis=1) == 60).all()
    for own in found:
        assert np.ptp(own[own > 0]) <= 1


def test_class_ladder_draws_classes_at_random():
    single = {
        int(counts(ClassLadderPartitioner(participants=5, samples_each=60), seed)[0].argmax())
        for seed in range(30)
    }
    assert len(single) > 5


@pytest.mark.parametrize(
    ("samples_each", "message"),
    [
        (121, r"class \d: a class has too few samples left .*Use fewer samples_each"),
        (9, "samples_each: too few samples each for all classes"),
        (241, "too few samples for 5 participants"),
    ],
)
def test_impossible_ladders_are_refused(samples_each, message):
    with pytest.raises(DataError, match=message):
        counts(ClassLadderPartitioner(participants=5, samples_each=samples_each))


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: DirichletPartitioner(participants=0, delta=1), "participants"),
        (lambda: DirichletPartitioner(participants=2, delta=0), "delta"),
        (lambda: DirichletPartitioner(participants=2, delta=float("inf")), "delta"),
        (lambda: DirichletPartitioner(participants=2, delta=1, by="label"), "by"),
        (lambda: DirichletPartitioner(participants=2, delta=1, min_samples=0), "min_samples"),
        (lambda: PathologicalPartitioner(participants=2, classes_each=0), "classes_each"),
        (lambda: PathologicalPartitioner(participants=2, classes_each=1, delta=-1), "delta"),
        (lambda: ClassLadderPartitioner(participants=2, samples_each=0), "samples_each"),
    ],
)
def test_impossible_settings_are_refused_by_name(build, named):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        build()


def test_a_cap_stops_whoever_holds_an_even_share():
    free = DirichletPartitioner(participants=20, delta=0.1)
    capped = DirichletPartitioner(participants=20, delta=0.1, cap=True)
    for seed in range(5):
        order = np.argsort(LABELS, kind="stable")
        assert (order == np.arange(len(LABELS))).all()
        held = counts(capped, seed)
        assert held.sum() == len(LABELS)
        before = np.cumsum(held, axis=1) - held  # of the classes divided earlier
        assert not held[before >= len(LABELS) / 20].any()
    assert counts(free, 0).sum(axis=1).max() > counts(capped, 0).sum(axis=1).max()


def test_pathological_shares_can_be_capped_too():
    partitioner = PathologicalPartitioner(participants=20, classes_each=3, cap=True)
    held = counts(partitioner)
    assert held.sum() == len(LABELS)
    assert ((held > 0).sum(axis=1) <= 3).all()
    before = np.cumsum(held, axis=1) - held
    full = before >= len(LABELS) / 20
    everyone_full = np.array([not held[~full[:, c], c].any() for c in range(10)])
    assert not held[:, ~everyone_full][full[:, ~everyone_full]].any()


def test_quantities_cannot_be_capped():
    with pytest.raises(ConfigError, match=r"^cap: "):
        DirichletPartitioner(participants=2, delta=1, by="quantity", cap=True)


def test_dpfls_divisions_of_cifar10_are_possible():
    labels = np.repeat(np.arange(10), 5000)
    for spec in (
        DirichletPartitioner(participants=100, delta=0.1, min_samples=10),
        PathologicalPartitioner(participants=100, classes_each=3, min_samples=10),
    ):
        sizes = counts(spec, labels=labels).sum(axis=1)
        assert sizes.min() >= 10
        assert sizes.sum() == 50_000
