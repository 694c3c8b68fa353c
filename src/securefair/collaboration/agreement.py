"""What every agreement is made of: sections of the configuration, and facts that all know.

A kind's agreement names the sections that it is about as fields, under their names in a
configuration. A key of these sections is so part of it, and of its digest, without being written
again.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self

import msgspec

from securefair.config import DisclosureSection, RunConfig, TrainingSection, defaults
from securefair.config.base import Section
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.model.optimizer import OptimizerConfig
from securefair.model.outcomes import agreed_outcome
from securefair.model.projection import SignedSeed
from securefair.protocol.codec import Limits
from securefair.protocol.messages import PROTOCOL_VERSION, SINCE_0_3
from securefair.protocol.settings import SumSettings

LOCAL = MappingProxyType({"local": True})
"""Metadata of a field that no digest covers."""


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """What everyone may know of everyone before a collaboration.

    Attributes:
        participants: names, in the order of every record.
        shape: of a sample's features, without the axis of samples.
        classes: of its label.
        outcome: name of what is known of a sample; "": its class.
        samples: most training samples that anyone brings.
        round_seconds: deadline of a round.
        setup_seconds: for keys and features, on top of the first round's.
        protocol: version of the protocol that they speak.
        brought: somebody is known to answer by a model that it brings: only where all data are
            here. It is no constant of a digest; a question that follows from it has one of its own.
    """

    participants: tuple[str, ...]
    shape: tuple[int, ...]
    classes: int
    samples: int
    outcome: str = ""
    round_seconds: float = defaults.ROUND_SECONDS
    setup_seconds: float = defaults.SETUP_SECONDS
    protocol: int = PROTOCOL_VERSION
    brought: bool = field(default=False, metadata=LOCAL)

    later: ClassVar[frozenset[str]] = frozenset()
    """See `Section.later`."""

    @classmethod
    def of(cls, data: Sequence[ParticipantData]) -> Self:
        """As a simulation finds them, which has everyone's data; at least one participant's."""
        first = data[0].train
        return cls(
            participants=tuple(own.name for own in data),
            shape=tuple(int(width) for width in first.common.features.shape[1:]),
            classes=first.classes,
            outcome=first.outcome,
            samples=max(map(most_samples, data)),
            brought=any(own.teacher is not None for own in data),
        )

    def basis_seed(self, drawn: bytes) -> bytes:
        """The seed of projections, as the protocol that they speak adds blocks of samples."""
        return drawn if self.protocol >= SINCE_0_3 else SignedSeed(drawn)


def optimizer_of(training: TrainingSection) -> OptimizerConfig:
    """How everyone takes every step."""
    return OptimizerConfig(
        learning_rate=training.learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )


def most_samples(own: ParticipantData) -> int:
    """For training, at any time."""
    return max(len(one.train) for one in (own, *own.earlier))


@dataclass(frozen=True, kw_only=True)
class Agreement(ABC):
    """Public constants; everyone finds the same ones.

    Attributes:
        facts: what everyone knows of everyone.
        seed: public; one for a data epoch.
        disclosure: how much whoever holds this lets out as a teacher. Everybody decides for itself,
            so no digest covers it.

    Raises:
        ConfigError: fewer than two participants, two of one name, or no classes to tell apart.
    """

    facts: PublicFacts
    seed: int = 0
    disclosure: DisclosureSection = field(
        default=RunConfig.model_fields["disclosure"].default, metadata=LOCAL
    )

    predicts_all: ClassVar[bool] = False
    """Whether every outcome may be predicted, not classes alone."""

    later: ClassVar[frozenset[str]] = frozenset()
    """See `Section.later`, of whole sections."""

    def __post_init__(self) -> None:
        names = self.participants
        if len(set(names)) != len(names) or len(names) < 2:
            raise ConfigError(
                "a collaboration needs at least two participants of different names",
                where="participants",
                found=names,
            )

        outcome = agreed_outcome(self.facts.outcome, self.classes)
        if not (outcome.tells_classes or self.predicts_all):
            raise ConfigError(
                f"this kind of collaboration tells classes apart, it does not predict "
                f"{outcome.title}",
                where="outcome",
                found=outcome.name,
                hint='A transfer does: run.algorithms = ["standalone", "transfer"]',
            )

    @classmethod
    def of(cls, config: RunConfig, facts: PublicFacts, *, seed: int, **own: Any) -> Self:
        """What participants of a configuration agree on.

        Args:
            config: of which the agreement takes its sections.
            facts: what everyone knows of everyone.
            seed: public.
            own: what the kind adds, or has in the place of a section.

        Raises:
            ConfigError, PlanError: as the agreement.
        """
        sections = {
            one.name: getattr(config, one.name)
            for one in fields(cls)
            if one.name in RunConfig.model_fields
        }
        return cls(facts=facts, seed=seed, **(sections | own))

    @property
    def participants(self) -> tuple[str, ...]:
        """Names, in the order of every record."""
        return self.facts.participants

    def met_by(self, name: str) -> tuple[str, ...]:
        """Peers whom a participant greets, waits for and exchanges with; they meet it, too."""
        return tuple(one for one in self.participants if one != name)

    @property
    def features(self) -> int:
        """Of a sample that is a vector."""
        return self.facts.shape[0]

    @property
    def classes(self) -> int:
        """Of a sample's label."""
        return self.facts.classes

    @cached_property
    def digest(self) -> bytes:
        """32 bytes over every constant and the version of the protocol.

        What came later than the oldest version that is spoken counts where it is not its default:
        whoever founded a project did not know it.
        """
        encoded = msgspec.json.encode((self.facts.protocol, _constants(self), *self._planned))
        return hashlib.sha256(f"securefair {type(self).__name__}\0".encode() + encoded).digest()

    @property
    def _planned(self) -> tuple[str, ...]:
        """What the digest covers besides."""
        return ()

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """Most bytes of every field of every message."""

    @property
    @abstractmethod
    def plan_digest(self) -> bytes:
        """32 bytes over what this installation plans from the constants."""

    @property
    @abstractmethod
    def numbers_a_round(self) -> int:
        """Most numbers that a student gets of one teacher in one round."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it means, in a line for people: parameters, numbers, bytes."""

    def sum_settings(self, name: str) -> SumSettings | None:
        """What the machine of a participant must know of sums; None: answers are opened by
        themselves."""
        del name
        return None

    def check_samples(self, samples: int) -> None:
        """Refuse a participant that brings more samples than the plan is for.

        Raises:
            ConfigError: it does.
        """
        if samples > self.facts.samples:
            raise ConfigError(
                "a participant has more samples than agreed",
                where="samples",
                found=samples,
                expected=f"at most {self.facts.samples}",
            )


def _constants(known: Agreement | PublicFacts) -> dict[str, object]:
    """By name, in the order of their definition; a version of the protocol stands before them."""
    found = {}
    for one in fields(known):
        value = getattr(known, one.name)
        if one.name == "protocol" or one.metadata == LOCAL:
            continue
        if one.name in known.later and value == one.default:
            continue
        match value:
            case PublicFacts():
                value = _constants(value)
            case Section():
                value = value.agreed()
        found[one.name] = value
    return found
