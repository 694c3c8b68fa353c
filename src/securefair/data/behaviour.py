"""Participants who do not play fair, as a setting of the population.

What concerns data, wrong labels, is done here, before anything runs. What concerns exchanges,
what is sent, is only said here; every algorithm asks `Behaviour.distort` before it sends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import ParticipantData
from securefair.data.labels import check_permutation, flip_labels, permute_labels
from securefair.errors import ConfigError

Sends = Literal["own", "zeros", "noise"]


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """How a participant treats its labels and what it sends.

    Args:
        flip_rate: share of the labels it trains on that are wrong (`labels.flip_labels`); those
            it validates and is tested on stay right, others may share them.
        permutation: other names for the classes, in all its samples, those for testing too: it
            wants a model of its own (DPFL, section 4.3). None for none.
        sends: "own" is what the algorithm says; a free rider sends "zeros", or "noise": uniform
            random numbers within +-`noise` (CFFL).
        noise: the bound of what a free rider makes up, in the unit of what is sent.
        seeks_peers: False: it answers others, but neither asks nor chooses anyone itself (the
            stronger of DPFL's two attacks).

    Raises:
        ConfigError: a value is out of range.
    """

    flip_rate: float = 0.0
    permutation: tuple[int, ...] | None = None
    sends: Sends = "own"
    noise: float = 1.0
    seeks_peers: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.flip_rate <= 1.0:
            raise ConfigError(
                "out of range", where="flip_rate", found=self.flip_rate, expected="0 to 1"
            )
        if self.permutation is not None:
            check_permutation(self.permutation, len(self.permutation))
        if self.sends not in ("own", "zeros", "noise"):
            raise ConfigError(
                "unknown choice", where="sends", found=self.sends, expected="own, zeros, noise"
            )
        if not 0.0 < self.noise < math.inf:
            raise ConfigError(
                "out of range", where="noise", found=self.noise, expected="above 0, finite"
            )

    @property
    def rides_free(self) -> bool:
        """Whether what it sends holds nothing of its own."""
        return self.sends != "own"

    def distort(self, update: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """What it sends in place of an update (or of logits) of any shape.

        Args:
            update: what the algorithm says to send; returned as it is by whoever is honest.
            rng: source of the noise; not drawn from otherwise.
        """
        match self.sends:
            case "own":
                return update
            case "zeros":
                return np.zeros_like(update)
            case "noise":
                return rng.uniform(-self.noise, self.noise, size=update.shape).astype(update.dtype)


HONEST = Behaviour()
"""Right labels, and everything as the algorithm says."""


def with_labels_of(
    participants: Sequence[ParticipantData], behaviours: Mapping[str, Behaviour], seed: int
) -> list[ParticipantData]:
    """The participants, with the labels that their behaviours make of theirs.

    Each draw depends on the seed and the participant's name only.

    Args:
        participants: with right labels.
        behaviours: by name; whoever is not named is honest.
        seed: of the flips.

    Raises:
        ConfigError: nobody has such a name, or a permutation is not one of the classes.
    """
    unknown = sorted(set(behaviours) - {own.name for own in participants})
    if unknown:
        raise ConfigError(
            "nobody has this name",
            where="behaviours",
            found=", ".join(unknown),
            expected=", ".join(own.name for own in participants),
        )
    return [_relabelled(own, behaviours.get(own.name, HONEST), seed) for own in participants]


def _relabelled(own: ParticipantData, behaviour: Behaviour, seed: int) -> ParticipantData:
    permutation, validation = behaviour.permutation, own.validation
    if permutation is not None:
        own = replace(
            own,
            train=permute_labels(own.train, permutation),
            test=permute_labels(own.test, permutation),
            validation=None if validation is None else permute_labels(validation, permutation),
        )
    if not behaviour.flip_rate:
        return own
    digest = blake2b(own.name.encode(), digest_size=8, person=b"sf-label-flips").digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest, "big")])
    return replace(own, train=flip_labels(own.train, behaviour.flip_rate, rng))
