import numpy as np
import pytest

from securefair.data import load_heart
from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition import DirichletPartitioner, IidPartitioner
from securefair_lab.data.population import POOLED, load_population


def rows(samples):
    return [tuple(row) for row in samples.features]


def test_heart_without_a_partitioner_is_its_four_hospitals():
    for one, other in zip(load_population("heart", seed=3), load_heart(3), strict=True):
        assert one.name == other.name
        assert (one.train.features == other.train.features).all()


@pytest.mark.parametrize("name", list(POOLED))
def test_every_data_set_is_divided_completely(name):
    population = load_population(name, IidPartitioner(participants=3), seed=0, test_fraction=0.25)
    assert [p.name for p in population] == ["P1", "P2", "P3"]
    parts = [part for p in population for part in (p.train, p.test)]
    assert sorted(row for part in parts for row in rows(part)) == sorted(rows(POOLED[name]()))
    for p in population:
        assert abs(len(p.test) - 0.25 * (len(p.train) + len(p.test))) < 1


def test_shared_test_samples_are_the_same_for_all_and_trained_on_by_none():
    population = load_population(
        "digits", DirichletPartitioner(participants=4, delta=0.5), seed=1, held_out="shared"
    )
    test = population[0].test
    assert all(p.test is test for p in population)
    assert len(test) == 599
    assert sum(len(p.train) for p in population) == 1797 - 599
    trained_on = {row for p in population for row in rows(p.train)}
    assert not trained_on & set(rows(test))  # digits holds no duplicates


@pytest.mark.parametrize("held_out", ["own", "shared"])
def test_seeded(held_out):
    def load(seed):
        return load_population(
            "digits", IidPartitioner(participants=2), seed=seed, held_out=held_out
        )

    for one, same, other in zip(load(0), load(0), load(1), strict=True):
        assert np.array_equal(one.train.features, same.train.features)
        assert np.array_equal(one.test.features, same.test.features)
        assert not np.array_equal(one.train.features, other.train.features)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "mnist"}, "no such data set .*heart, breast-cancer, digits"),
        ({"name": "digits"}, "no participants of its own"),
        ({"name": "heart", "held_out": "shared"}, "held_out"),
        ({"name": "heart", "test_fraction": 1.0}, "test_fraction"),
    ],
)
def test_impossible_specs_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        load_population(**arguments, seed=0)


def test_too_many_participants_for_the_data():
    with pytest.raises(DataError, match="too few samples for 600 participants"):
        load_population("breast-cancer", IidPartitioner(participants=600), seed=0)
