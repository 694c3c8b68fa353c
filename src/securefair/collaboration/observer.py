"""What whoever sees all participants of a run makes of it: records, exchanges and facts.

A participant knows its own part. Only a simulation has everybody in one place: it compares what
was opened with the same in the clear, and writes one record for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from securefair.collaboration.facts import RunFacts
from securefair.records import LedgerRow, RoundRecord

if TYPE_CHECKING:
    from securefair.collaboration.host import FittedToAll, Host
    from securefair.model.heads import Head
    from securefair.model.transfer import LinearEstimates

Participant = TypeVar("Participant", bound="Host")


class SiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One round of one site: what *it* may know, and nobody else's.

    Attributes:
        round: its number.
        forced: everyone was asked.
        asked, opened, failed, missed, declined: peers, see `RoundSummary`.
        offered, combined, lost: peers, where answers are gathered in one; see `RoundSummary`.
        received: numbers that were got of each peer.
        reputations: after the round, or the weights that stand in their place; see `Host`.
        away: peers that were not waited for, or never heard of.
        measured: of the own model after the round, on own samples.
        temperature: see `Host`.
        step_error: why the own step failed.
        sum_declined: peers that are in no sum, and why.
        left_out: peers whose answers were opened and not believed; "all": their mean.
        sum_error: why a sum could not be opened although all its parts were there.
        doubted: those of `failed`, and of `opened` where alignments are private, whose answers a
            statistical test refused.
    """

    round: int
    forced: bool
    asked: tuple[str, ...]
    opened: tuple[str, ...]
    declined: dict[str, str]
    failed: tuple[str, ...]
    missed: tuple[str, ...]
    offered: tuple[str, ...]
    combined: tuple[str, ...]
    lost: tuple[str, ...]
    received: dict[str, int]
    reputations: dict[str, float | None]
    away: tuple[str, ...]
    measured: dict[str, float]
    temperature: float | None
    step_error: str | None
    sum_error: str | None = None
    sum_declined: Mapping[str, str] = {}
    left_out: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()

    @property
    def decisions(self) -> tuple[object, ...]:
        """Who was asked and who answered: what two runs of equal seeds have in common."""
        return (
            self.round,
            self.asked,
            self.opened,
            tuple(sorted(self.declined)),
            self.offered,
            self.combined,
        )


Ends = Mapping[str, SiteRecord]


@dataclass(frozen=True, kw_only=True)
class AskedPeers:
    """One exchange of a round, but for its bytes; see `ExchangeRecord`."""

    student: str
    teacher: str
    answered: bool
    teacher_seconds: float
    student_seconds: float


class Seen(msgspec.Struct, frozen=True):
    """What an observer has found so far that no participant remembers."""

    numbers: tuple[float, ...] = ()
    problems: list[str] = []


class Observer(ABC, Generic[Participant]):
    """Sees everybody in one run.

    Args:
        algorithm: the name that records carry.

    Attributes:
        problems: that it has found.
    """

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.problems: list[str] = []

    def begins(self, round: int, hosts: Mapping[str, Participant]) -> bool:
        """Before a round; False: there is nothing left to do."""
        del round, hosts
        return True

    @abstractmethod
    def ends(self, round: int, hosts: Mapping[str, Participant], ends: Ends) -> RoundRecord:
        """After a round: look at what was opened, and write one record for all."""

    @abstractmethod
    def exchanges(
        self, round: int, hosts: Mapping[str, Participant], ends: Ends
    ) -> Iterator[AskedPeers]:
        """Who was asked in a round."""

    @abstractmethod
    def facts(self, hosts: Mapping[str, Participant]) -> RunFacts:
        """What the run leaves behind, but for traffic and what sites blamed each other for."""

    def ledger(self, hosts: Mapping[str, Participant]) -> list[LedgerRow]:
        """What everyone has disclosed so far."""
        return [
            row
            for name, own in hosts.items()
            for row in own.machine.ledger.rows(algorithm=self.algorithm, teacher=name)
        ]

    def heads(self, hosts: Mapping[str, Participant]) -> Mapping[str, Head]:
        """Everyone's model as it trains, by name, where that is a head."""
        del hosts
        return {}

    def estimates(self, hosts: Mapping[str, Participant]) -> Mapping[str, LinearEstimates]:
        """Everyone's coefficients, by name, where models have some; none in most kinds."""
        found = {name: own.estimates() for name, own in hosts.items()}
        return {name: one for name, one in found.items() if one is not None}

    def fitted_to_all(self, hosts: Mapping[str, Participant]) -> Mapping[str, FittedToAll]:
        """Models fitted anew to all own samples, by name; none in most kinds."""
        found = {name: own.fitted_to_all() for name, own in hosts.items()}
        return {name: one for name, one in found.items() if one is not None}

    @property
    def seen(self) -> Seen:
        """To go on with."""
        return Seen(self._numbers(), list(self.problems))

    def go_on(self, seen: Seen, hosts: Mapping[str, Participant]) -> None:
        """Take up what an observer of an earlier process had seen."""
        del hosts
        self.problems = list(seen.problems)
        self._restore(seen.numbers)

    def _numbers(self) -> tuple[float, ...]:
        return ()

    def _restore(self, numbers: tuple[float, ...]) -> None:
        del numbers
