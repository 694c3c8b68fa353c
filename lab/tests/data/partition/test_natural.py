import numpy as np
import pytest

from securefair.errors import ConfigError
from securefair_lab.data.partition import NaturalIdPartitioner

LABELS = np.tile(np.arange(5), 12)
IDS = tuple("ab" * 30)


def classes(parts):
    return [set(LABELS[part].tolist()) for part in parts]


def test_each_keeps_some_of_its_classes_whole():
    parts = NaturalIdPartitioner(ids=IDS, classes_each=2).partition(
        LABELS, np.random.default_rng(0)
    )
    for name, part, kept in zip("ab", parts, classes(parts), strict=True):
        assert len(kept) == 2
        expected = [row for row in range(60) if IDS[row] == name and LABELS[row] in kept]
        assert sorted(part) == expected


def test_which_classes_depends_on_the_seed():
    partitioner = NaturalIdPartitioner(ids=IDS, classes_each=2)
    found = [classes(partitioner.partition(LABELS, np.random.default_rng(s))) for s in range(5)]
    assert any(one != found[0] for one in found)


def test_more_classes_than_there_are_keeps_all():
    parts = NaturalIdPartitioner(ids=IDS, classes_each=9).partition(
        LABELS, np.random.default_rng(0)
    )
    assert sum(map(len, parts)) == 60


def test_no_classes_are_refused():
    with pytest.raises(ConfigError, match=r"^classes_each: "):
        NaturalIdPartitioner(ids=IDS, classes_each=0)
