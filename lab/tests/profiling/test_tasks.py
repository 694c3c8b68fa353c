import numpy as np
import pytest

from securefair.config import defaults, demo_config, override
from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair_lab.profiling.tasks import reshaped, task_config, with_possible_q


def participant(samples: int, features: int, name: str = "P1") -> ParticipantData:
    rng = np.random.default_rng(0)
    made = Samples(rng.normal(size=(samples, features)), rng.integers(0, 2, samples), classes=2)
    return ParticipantData(name, made, made.take(np.arange(3)))


def test_the_default_task_is_the_demo_at_an_ordinary_precision() -> None:
    config = task_config()

    assert config.data == demo_config().data
    assert config.encryption.precision == defaults.PRECISION


@pytest.mark.parametrize(
    ("options", "source", "parts"),
    [
        ({"participants": 4}, "heart", None),
        ({"participants": 3}, "breast-cancer", 3),
        ({"source": "digits"}, "digits", 4),
        ({"source": "digits", "participants": 6}, "digits", 6),
    ],
)
def test_participants_are_hospitals_or_equal_parts(
    options: dict[str, object], source: str, parts: int | None
) -> None:
    data = task_config(**options).data  # type: ignore[arg-type]

    assert data.source == source
    assert (data.partition.participants if data.partition else None) == parts  # type: ignore[union-attr]


def test_hospitals_cannot_be_divided() -> None:
    with pytest.raises(ConfigError, match="real hospitals"):
        task_config(source="heart", participants=3)


def test_a_given_configuration_changes_only_where_asked() -> None:
    base = override(demo_config(), {"encryption.precision": 2.0**-12})

    config = task_config(base, rounds=7, release="logits", q=9, backend="clear")

    expected = {
        "training.rounds": 7,
        "distillation.release": "logits",
        "distillation.q": 9,
        "encryption.backend": "clear",
    }
    assert config == override(base, expected)


def test_samples_repeat_only_when_there_are_too_few() -> None:
    own = participant(samples=10, features=3)

    (fewer,) = reshaped([own], samples=4, features=None, seed=1)
    (more,) = reshaped([own], samples=25, features=None, seed=1)

    rows = {tuple(row) for row in own.train.features}
    assert len({tuple(row) for row in fewer.train.features} & rows) == 4
    seen, counts = np.unique(more.train.features, axis=0, return_counts=True)
    assert {tuple(row) for row in seen} == rows
    assert set(counts) == {2, 3}
    assert len(fewer.test) == len(more.test) == 3


@pytest.mark.parametrize("features", [2, 3, 5])
def test_columns_are_zeros_or_the_first(features: int) -> None:
    own = participant(samples=6, features=3)

    (changed,) = reshaped([own], samples=None, features=features, seed=0)

    kept = min(features, 3)
    for before, after in ((own.train, changed.train), (own.test, changed.test)):
        np.testing.assert_array_equal(after.features[:, :kept], before.features[:, :kept])
        assert after.features.shape == (len(before), features)
        assert not after.features[:, kept:].any()


@pytest.mark.parametrize("options", [{"samples": 1}, {"features": 0}])
def test_a_size_must_be_possible(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        reshaped([participant(4, 2)], **{"samples": None, "features": None, **options}, seed=0)


def test_q_is_lowered_only_where_it_is_impossible() -> None:
    config = task_config(q=20)
    many, enough, few = (participant(samples=count, features=2) for count in (100, 21, 20))

    assert with_possible_q(config, [many, enough]) is config
    assert with_possible_q(config, [many, few]).distillation.q == 10
