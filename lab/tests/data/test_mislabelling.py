import numpy as np
import pytest

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair_lab.data.mislabelling import Mislabelling, mislabel


def participant(name):
    def part(count):
        return Samples(np.arange(count, dtype=float)[:, None], np.arange(count) % 3, 3)

    return ParticipantData(name, part(30), part(9), part(6))


PEOPLE = [participant(name) for name in ("P1", "P2", "P3")]


def changes(before, after):
    return [int((b.labels != a.labels).sum()) for b, a in zip(before, after, strict=True)]


def parts(own):
    return own.train, own.test, own.validation


def test_flippers_train_on_wrong_labels_and_nobody_else_is_touched():
    after = mislabel(PEOPLE, {"P2": Mislabelling(flip_rate=0.5)}, seed=0)
    assert after[0] is PEOPLE[0]
    assert after[2] is PEOPLE[2]
    assert changes(parts(PEOPLE[1]), parts(after[1])) == [15, 0, 0]


def test_flips_depend_on_name_and_seed_only():
    flips = Mislabelling(flip_rate=0.5)

    def labels(people, named, seed, at):
        return mislabel(people, dict.fromkeys(named, flips), seed)[at].train.labels.tolist()

    alone = labels(PEOPLE, ["P2"], 0, 1)
    assert labels(PEOPLE[::-1], ["P3", "P2", "P1"], 0, 1) == alone
    assert labels(PEOPLE, ["P2"], 1, 1) != alone
    assert labels(PEOPLE, ["P1"], 0, 0) != alone


def test_a_permutation_renames_the_classes_of_all_parts():
    after = mislabel(PEOPLE, {"P1": Mislabelling(permutation=(1, 2, 0))}, seed=0)
    for before, now in zip(parts(PEOPLE[0]), parts(after[0]), strict=True):
        assert (now.labels == (before.labels + 1) % 3).all()


def test_a_permutation_needs_no_validation_part():
    bare = ParticipantData("P1", PEOPLE[0].train, PEOPLE[0].test)
    after = mislabel([bare], {"P1": Mislabelling(permutation=(1, 2, 0))}, seed=0)
    assert after[0].validation is None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"flip_rate": 1.5}, "flip_rate"),
        ({"permutation": (0, 0)}, "permutation"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings, named):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        Mislabelling(**settings)


def test_unknown_names_and_foreign_permutations_are_refused():
    with pytest.raises(ConfigError, match=r"nobody has this name .*'P9'.*P1, P2, P3"):
        mislabel(PEOPLE, {"P9": Mislabelling()}, seed=0)
    with pytest.raises(ConfigError, match="not a permutation of the classes"):
        mislabel(PEOPLE, {"P1": Mislabelling(permutation=(1, 0))}, seed=0)
