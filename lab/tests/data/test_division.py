import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError
from securefair_lab.data.division import divide
from securefair_lab.data.images import load_femnist, load_ham10000, load_mnist
from securefair_lab.data.partition import DirichletPartitioner, IidPartitioner
from securefair_lab.data.pool import DataSet, pool_of


def pool(count, first=0, sites=None, classes=2):
    features = np.arange(first, first + count, dtype=float)[:, None]
    return pool_of(Samples(features, np.arange(count) % classes, classes), sites)


SOURCE = DataSet(
    name="toy",
    train=pool(60, sites=tuple("ab" * 30)),
    test=pool(40, first=1000, sites=tuple("ba" * 20)),
)
THREE = IidPartitioner(participants=3)


def rows(samples):
    return set(samples.features.ravel().astype(int))


def test_everyone_is_tested_on_the_published_part():
    parts = divide(SOURCE, THREE, seed=0)
    assert [own.name for own in parts] == ["P1", "P2", "P3"]
    assert all(own.test is parts[0].test and own.validation is None for own in parts)
    assert rows(parts[0].test) == set(range(1000, 1040))
    assert set.union(*(rows(own.train) for own in parts)) == set(range(60))


def test_following_divides_the_published_part_like_the_training_part():
    parts = divide(
        SOURCE, DirichletPartitioner(participants=3, delta=0.5), seed=3, test="following"
    )
    tested = [rows(own.test) for own in parts]
    assert set.union(*tested) == set(range(1000, 1040))
    assert sum(map(len, tested)) == 40
    for own in parts:
        share = (own.train.labels == 0).mean() * len(own.train) / 30
        assert abs((own.test.labels == 0).sum() - 20 * share) <= 1


def test_own_parts_come_out_of_each_participants_share():
    parts = divide(SOURCE, THREE, seed=0, test="own", validation="own", validation_fraction=0.25)
    held = [rows(part) for own in parts for part in (own.train, own.validation, own.test)]
    assert sum(map(len, held)) == 60
    assert set.union(*held) == set(range(60))
    assert [len(part) for part in held[:3]] == [12, 4, 4]


def test_shared_parts_come_out_first_and_are_one_object():
    parts = divide(SOURCE, THREE, seed=0, test="shared", validation="shared")
    assert all(own.test is parts[0].test for own in parts)
    assert all(own.validation is parts[0].validation for own in parts)
    held = [rows(parts[0].test), rows(parts[0].validation), *(rows(own.train) for own in parts)]
    assert [len(part) for part in held] == [12, 5, 14, 14, 15]
    assert len(set.union(*held)) == 60


def test_a_validation_part_changes_no_test_part():
    without = divide(SOURCE, THREE, seed=0, test="own")
    with_ = divide(SOURCE, THREE, seed=0, test="own", validation="own")
    assert [rows(own.test) for own in without] == [rows(own.test) for own in with_]


def test_sites_become_participants():
    parts = divide(SOURCE, seed=0, test="site")
    assert [own.name for own in parts] == ["a", "b"]
    assert rows(parts[0].train) == set(range(0, 60, 2))
    assert rows(parts[0].test) == set(range(1001, 1040, 2))


def test_the_same_seed_gives_the_same_participants():
    one, same, other = (divide(SOURCE, THREE, seed=seed, test="own") for seed in (5, 5, 6))
    for first, second in zip(one, same, strict=True):
        assert (first.train.features == second.train.features).all()
        assert (first.test.features == second.test.features).all()
    assert rows(one[0].train) != rows(other[0].train)


def test_images_become_float32_participants(small_folder):
    ham = divide(load_ham10000(small_folder).data_set(), seed=0, test="published")
    assert [own.name for own in ham] == ["vidir_modern", "rosendahl"]
    assert ham[0].train.features.shape == (20, 3, 64, 64)
    assert ham[0].train.features.dtype == np.float32
    femnist = divide(load_femnist(small_folder).data_set(), seed=0, test="own", test_fraction=0.5)
    assert len(femnist) == 12
    images = load_mnist(small_folder)
    mnist = divide(images.data_set(), IidPartitioner(participants=2), seed=0)
    normalised = images.train_samples().features.reshape(20, -1)
    for own in mnist:  # a sample keeps its label
        for x, y in zip(
            own.train.features.reshape(len(own.train), -1), own.train.labels, strict=True
        ):
            assert images.train.labels[(normalised == x).all(axis=1).argmax()] == y


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (SOURCE, {"test": "all"}, "^test: unknown choice"),
        (SOURCE, {"validation": "all"}, "^validation: unknown choice"),
        (
            DataSet(name="bare", train=pool(9)),
            {"test": "own"},
            "^partitioner: .*'bare' has no part",
        ),
        (
            DataSet(name="bare", train=pool(9)),
            {"partitioner": THREE},
            "^test: .*without a test part .*shared",
        ),
        (SOURCE, {"partitioner": THREE, "test": "site"}, "^test: only natural participants"),
        (SOURCE, {"test": "own", "test_fraction": 1.0}, "^test_fraction: out of range"),
    ],
)
def test_what_a_data_set_does_not_have_is_refused(source, settings, message):
    with pytest.raises(ConfigError, match=message):
        divide(source, seed=0, **settings)


def test_a_participant_with_too_little_is_named():
    source = DataSet(name="tiny", train=pool(3, classes=3))
    with pytest.raises(DataError, match="participant P1: too few samples to hold any out"):
        divide(source, IidPartitioner(participants=1), seed=0, test="own")


def test_a_site_without_test_samples_is_named():
    source = DataSet(name="toy", train=pool(4, sites=tuple("abab")), test=pool(2, sites=("a", "a")))
    with pytest.raises(DataError, match="site b: the test part has no samples"):
        divide(source, seed=0, test="site")


def test_a_site_that_sharing_leaves_without_samples_is_named():
    source = DataSet(name="toy", train=pool(40, sites=("b", *"a" * 39)))

    def divided(seed):
        try:
            return len(divide(source, seed=seed, test="shared", test_fraction=0.5))
        except DataError as error:
            return str(error)

    found = {divided(seed) for seed in range(12)}
    assert 2 in found
    (refusal,) = found - {2}
    assert refusal.startswith("site b: nothing is left to train on after the shared parts")
