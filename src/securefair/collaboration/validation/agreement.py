"""What hospitals agree on that look at each other's models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec

from securefair.circuit.spec import ExchangeSpec
from securefair.collaboration.agreement import PublicFacts
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.collaboration.validation.question import LogitsQuestion, most_asked
from securefair.config import RunConfig, TransferSection
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.model.transfer.answers import query_size


@dataclass(frozen=True, kw_only=True)
class ValidationAgreement(TransferAgreement):
    """See `TransferTerms`: a transfer's question, but for what leaves: every patient's logits.

    Raises:
        ConfigError: fewer than two participants, or two of one name.
        PlanError: the exchange is impossible.
    """

    in_fractions: ClassVar[bool] = False  # whoever agrees on all logits, lets them out

    @classmethod
    def of(cls, config: RunConfig, facts: PublicFacts, *, seed: int, **own: Any) -> Self:
        """See `Agreement`: everybody is asked for itself, whatever a transfer would add up."""
        asked = TransferSection(
            fit=config.transfer.fit, peers=config.validation.peers, sums="none", opened="each"
        )
        return super().of(config, facts, seed=seed, transfer=asked, **own)

    @cached_property
    def question(self) -> LogitsQuestion:
        """What everybody asks its peers once."""
        return LogitsQuestion(self)

    @property
    def numbers_a_round(self) -> int:
        """See `Agreement`."""
        return self.question.numbers_of(most_asked(self))

    def asked_parts(self, own: ParticipantData) -> tuple[Samples, ...]:
        """See `TransferTerms`: all of them, since peers' models know none."""
        return own.train, own.test

    def check_samples(self, samples: int) -> None:
        """See `Agreement`.

        Raises:
            ConfigError: more patients than a question may be about.
        """
        most = most_asked(self)
        if samples > most:
            raise ConfigError(
                "more patients than a question may be about",
                where="samples",
                found=samples,
                expected=f"at most {most}: twice the training samples agreed on",
            )

    def spec_for(self, patients: int) -> ExchangeSpec:
        """See `TransferTerms`."""
        sums = super().spec_for(patients)
        return msgspec.structs.replace(sums, release="logits", samples=query_size(patients))
