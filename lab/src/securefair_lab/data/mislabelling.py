"""Participants whose labels are wrong, as a setting of the population.

Label flippers hold the right samples under wrong labels, so everything is done here, before an
algorithm sees them. What a free rider sends is another matter: `algorithms.free_riding`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair_lab.data.labels import check_permutation, flip_labels, permute_labels


@dataclass(frozen=True, kw_only=True)
class Mislabelling:
    """What is wrong with a participant's labels.

    Args:
        flip_rate: share of the labels it trains on that are wrong (`labels.flip_labels`); those
            it validates and is tested on stay right, others may share them (CYCle, section 5.2).
        permutation: other names for the classes, in all its samples, those for testing too: it
            wants a model of its own (DPFL, section 4.3: one permutation for 40 of 100). None for
            none.

    Raises:
        ConfigError: a value is out of range.
    """

    flip_rate: float = 0.0
    permutation: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.flip_rate <= 1.0:
            raise ConfigError(
                "out of range", where="flip_rate", found=self.flip_rate, expected="0 to 1"
            )
        if self.permutation is not None:
            check_permutation(self.permutation, len(self.permutation))


def mislabel(
    participants: Sequence[ParticipantData], wrong: Mapping[str, Mislabelling], seed: int
) -> list[ParticipantData]:
    """The participants, some of them with wrong labels.

    Each draw depends on the seed and the participant's name only.

    Args:
        participants: with right labels.
        wrong: whose are not, by name.
        seed: of the flips.

    Raises:
        ConfigError: nobody has such a name, or a permutation is not one of the classes.
    """
    unknown = sorted(set(wrong) - {own.name for own in participants})
    if unknown:
        raise ConfigError(
            "nobody has this name",
            where="wrong",
            found=", ".join(unknown),
            expected=", ".join(own.name for own in participants),
        )
    return [
        _mislabelled(own, wrong[own.name], seed) if own.name in wrong else own
        for own in participants
    ]


def _mislabelled(own: ParticipantData, wrong: Mislabelling, seed: int) -> ParticipantData:
    permutation, validation = wrong.permutation, own.validation
    if permutation is not None:
        own = replace(
            own,
            train=permute_labels(own.train, permutation),
            test=permute_labels(own.test, permutation),
            validation=None if validation is None else permute_labels(validation, permutation),
        )
    if not wrong.flip_rate:
        return own
    digest = blake2b(own.name.encode(), digest_size=8, person=b"sf-label-flips").digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest, "big")])
    return replace(own, train=flip_labels(own.train, wrong.flip_rate, rng))
