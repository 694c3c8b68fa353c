"""What hospitals agree on that describe their patients together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from securefair.collaboration.agreement import PublicFacts
from securefair.collaboration.table_one.counted import Counted
from securefair.collaboration.table_one.question import CountsQuestion
from securefair.collaboration.table_one.rules import FEWEST_PATIENTS
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.config import (
    NumericColumn,
    RunConfig,
    TableOneSection,
    TransferSection,
    defaults,
)
from securefair.data import TableSpec
from securefair.data.dataset import ParticipantData, Samples, of_one_hospital
from securefair.data.table import class_names
from securefair.errors import ConfigError, DataError
from securefair.model.transfer.peers import Opened
from securefair.user.tables import table_rules

HELD_OUT = 2
"""Patients of a hospital, over the training samples that were agreed on: those that a study would
test on are described as well, and are as many at most."""


@dataclass(frozen=True, kw_only=True)
class TableAgreement(TransferAgreement):
    """See `TransferTerms`; all hospitals are one group, and every sum is over all of them.

    Attributes:
        table_one: which cells are told.
        rules: of tables; None where samples are numbers, which are then measurements.

    Raises:
        ConfigError: fewer than three hospitals, two of one name, or fewer than must have patients
            in a cell.
        PlanError: the sums are impossible.
    """

    in_fractions: ClassVar[bool] = False  # whoever agrees on a table lets all of it out

    table_one: TableOneSection
    rules: TableSpec | None = None

    def __post_init__(self) -> None:
        people = len(self.facts.participants)
        if people < defaults.FEWEST_DESCRIBED:
            raise ConfigError(
                "too few to be described together: of two, each would know the other's patients",
                where="participants",
                found=f"{people} hospitals",
                expected=f"{defaults.FEWEST_DESCRIBED} hospitals or more",
            )
        if self.table_one.hospitals > people:
            raise ConfigError(
                "more hospitals than there are must have patients in a cell",
                where="table_one.hospitals",
                found=self.table_one.hospitals,
                expected=f"at most {people}, or 0: all",
            )
        super().__post_init__()

    @classmethod
    def of(cls, config: RunConfig, facts: PublicFacts, *, seed: int, **own: Any) -> Self:
        """See `Agreement`."""
        rules = table_rules(config)
        if rules is not None and len(rules.features) != facts.shape[0]:
            rules = None
        everybody = TransferSection(peers=max(2, len(facts.participants) - 1))
        return super().of(config, facts, seed=seed, transfer=everybody, rules=rules, **own)

    @property
    def hospitals(self) -> int:
        """That must have patients in a cell for it to be told."""
        return self.table_one.hospitals or len(self.participants)

    @cached_property
    def counted(self) -> Counted:
        """What everybody counts."""
        rules = self.rules
        numbers = [NumericColumn(name=f"x{at + 1}", low=-1, high=1) for at in range(self.features)]
        outcome, within = self.outcome, None
        told = class_names(rules, self.classes) if outcome.tells_classes else list(outcome.strata)
        label = "label" if rules is None else rules.target.name
        if outcome.ranged:  # strata of a number are halves of a hospital's own
            told, within = [], None if rules is None else rules.target.range
        elif not outcome.tells_classes and rules is not None:
            label = outcome.strata_of(rules.target)
        return Counted(
            label=label,
            within=within,
            columns=numbers if rules is None else rules.columns,
            classes=told,
            hospitals=self.hospitals,
            others=self.most_teachers,
            patients=HELD_OUT * self.facts.samples,
        )

    @cached_property
    def question(self) -> CountsQuestion:
        """What everybody asks its peers, once in each of two rounds."""
        return CountsQuestion(self, self.counted)

    @property
    def content(self) -> str:
        """Digest of what a table tells, in hex: the same of two projects with these rules."""
        rules = None if self.rules is None else self.rules.agreed()
        facts = (rules, self.table_one.agreed(), self.features, self.counted.classes)
        content = b"securefair description\0" + msgspec.json.encode(facts)
        return hashlib.sha256(content).hexdigest()

    def patients_of(self, own: ParticipantData) -> Samples:
        """See `TransferTerms`: all, each once, by the row that comes first in the table. Several
        rows of one would pass for several patients."""
        everyone, order = of_one_hospital(self.asked_parts(own)).common, np.argsort(own.rows)
        _, first = np.unique(everyone.who[order], return_index=True)
        return everyone.take(order[np.sort(first)])

    def asked_parts(self, own: ParticipantData) -> tuple[Samples, ...]:
        """See `TransferTerms`: training and test patients alike."""
        return own.train, own.test

    def check_samples(self, samples: int) -> None:
        """See `Agreement`.

        Raises:
            ConfigError: more patients than a sum has room for.
        """
        if samples > self.counted.patients:
            raise ConfigError(
                "more patients than agreed on",
                where="samples",
                found=samples,
                expected=f"at most {self.counted.patients}: twice the training samples",
            )

    def check_data(self, own: ParticipantData) -> None:
        """See `TransferAgreement`.

        Raises:
            DataError: as there, or too few patients.
        """
        super().check_data(own)
        patients = len(self.patients_of(own))
        if patients < FEWEST_PATIENTS:
            raise DataError(
                "too few to be described together",
                where=own.name,
                found=f"{patients} patients",
                expected=f"{FEWEST_PATIENTS} or more",
            )

    def check_teacher(self, own: ParticipantData, *, private: bool) -> None:
        """See `TransferAgreement`.

        Raises:
            ConfigError: a model was brought.
        """
        del private
        if own.teacher is not None:
            raise ConfigError(
                "a description has no use for a model",
                where=f"participants, {own.name}, teacher",
                found=own.teacher.name,
                expected="no teacher",
            )

    @property
    def opens(self) -> Opened:
        """See `TransferTerms`: sums alone."""
        return "mean"

    @property
    def fewest_left(self) -> int:
        """See `TransferTerms`: two sums that differ by a hospital would tell its patients."""
        return self.most_teachers

    @property
    def enough_together(self) -> int:
        """See `TransferTerms`."""
        return self.most_teachers

    def missing_of(self, student: str) -> int:
        """See `TransferTerms`: nobody."""
        del student
        return 0

    @property
    def summary(self) -> str:
        """See `Agreement`."""
        return (
            f"{self.question.summary}; a cell is told that {self.hospitals} of "
            f"{len(self.participants)} hospitals have three patients or more in, and every sum is "
            "over all"
        )
