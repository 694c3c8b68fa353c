"""What every agreement is made of: sections of the configuration, and facts that all know.

A kind's agreement names the sections that it is about as fields, under their names in a
configuration. A key of these sections is so part of it, and of its digest, without being written
again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec

from securefair.collaboration.interface import LOCAL, PublicFacts
from securefair.config import RunConfig
from securefair.config.base import Section
from securefair.errors import ConfigError
from securefair.model.outcomes import agreed_outcome


@dataclass(frozen=True, kw_only=True)
class AgreedSections:
    """Public constants; their digest is compared in the first message.

    Attributes:
        facts: what everyone knows of everyone.
        seed: public; one for a data epoch.

    Raises:
        ConfigError: fewer than two participants, two of one name, or no classes to tell apart.
    """

    facts: PublicFacts
    seed: int = 0

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


def _constants(known: AgreedSections | PublicFacts) -> dict[str, object]:
    """By name, in the order of their definition; a version of the protocol stands before them."""
    return {
        one.name: _plain(getattr(known, one.name))
        for one in fields(known)
        if one.name != "protocol"
        and one.metadata != LOCAL
        and not (one.name in known.later and getattr(known, one.name) == one.default)
    }


def _plain(value: object) -> object:
    if isinstance(value, PublicFacts):
        return _constants(value)
    return value.agreed() if isinstance(value, Section) else value
