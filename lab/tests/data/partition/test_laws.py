"""What every partitioner promises, whatever it divides by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import DataError
from securefair_lab.data.partition import (
    PARTITIONERS,
    ClassLadderPartitioner,
    DirichletPartitioner,
    IidPartitioner,
    ImbalancedPartitioner,
    NaturalIdPartitioner,
    PathologicalPartitioner,
    PowerLawPartitioner,
    RatioPartitioner,
)

# Four classes of 10 to 60 samples, in any order.
some_labels = st.lists(st.integers(10, 60), min_size=4, max_size=4).flatmap(
    lambda sizes: st.permutations([c for c, n in enumerate(sizes) for _ in range(n)])
)

COMPLETE = {
    "homogeneous": IidPartitioner(participants=3),
    "imbalanced": ImbalancedPartitioner(participants=4, kappa=0.35, large=2),
    "ratio": RatioPartitioner(ratios=(0.10, 0.12, 0.38, 0.40)),
    "power-law": PowerLawPartitioner(participants=5),
    "dirichlet": DirichletPartitioner(participants=4, delta=0.3),
    "dirichlet by quantity": DirichletPartitioner(participants=4, delta=0.5, by="quantity"),
    "pathological": PathologicalPartitioner(participants=5, classes_each=2),
    "pathological, even": PathologicalPartitioner(participants=4, classes_each=3, delta=None),
}
PARTIAL = {
    "power-law of some": PowerLawPartitioner(participants=3, exponent=2, samples=30),
    "class-ladder": ClassLadderPartitioner(participants=3, samples_each=4),
}


def divide(partitioner, labels, seed=0):
    return partitioner.partition(np.array(labels, dtype=np.int64), np.random.default_rng(seed))


def test_every_registered_partitioner_is_tested():
    tested = {type(p) for p in (COMPLETE | PARTIAL).values()}
    assert tested == set(PARTITIONERS.values())


@pytest.mark.parametrize("name", COMPLETE | PARTIAL)
@given(labels=some_labels, seed=st.integers(0, 3))
def test_disjoint_nonempty_and_complete_unless_said_otherwise(name, labels, seed):
    parts = divide((COMPLETE | PARTIAL)[name], labels, seed)
    everything = np.concatenate(parts)
    assert all(len(part) and part.dtype == np.int64 for part in parts)
    assert len(set(everything)) == len(everything)
    if name in COMPLETE:
        assert sorted(everything) == list(range(len(labels)))
    else:
        assert set(everything) < set(range(len(labels)))


@pytest.mark.parametrize("name", COMPLETE | PARTIAL)
def test_seeded_and_shuffled(name):
    partitioner, labels = (COMPLETE | PARTIAL)[name], np.repeat(np.arange(4), 40)
    one, same, other = (divide(partitioner, labels, seed) for seed in (0, 0, 1))
    assert [part.tolist() for part in one] == [part.tolist() for part in same]
    assert [sorted(part) for part in one] != [sorted(part) for part in other]
    assert any((np.diff(part) < 0).any() for part in one)


@pytest.mark.parametrize("name", COMPLETE | PARTIAL)
def test_more_participants_than_samples_are_refused_with_a_hint(name):
    with pytest.raises(DataError, match=r"too few samples for . participants .*Use fewer"):
        divide((COMPLETE | PARTIAL)[name], [0, 1])


@pytest.mark.parametrize("bad", [np.zeros((2, 2), dtype=np.int64), np.zeros(9), np.array([-1] * 9)])
def test_refuses_what_is_not_labels(bad):
    for partitioner in (COMPLETE | PARTIAL).values():
        with pytest.raises(DataError, match="not class labels"):
            partitioner.partition(bad, np.random.default_rng(0))


def test_natural_participants_follow_their_identifiers():
    ids = ("Basel", "Zürich", "Basel", 7, "Zürich", "Basel")
    partitioner = NaturalIdPartitioner(ids=ids)
    assert partitioner.names == ("Basel", "Zürich", "7")
    parts = divide(partitioner, [0, 1, 0, 1, 0, 1])
    assert [sorted(part) for part in parts] == [[0, 2, 5], [1, 4], [3]]


def test_natural_identifiers_must_fit_the_samples():
    with pytest.raises(DataError, match=r"found 2, expected 3"):
        divide(NaturalIdPartitioner(ids=("a", "b")), [0, 0, 0])
