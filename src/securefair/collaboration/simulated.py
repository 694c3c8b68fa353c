"""What runs of every kind have alike: a network, its bytes, and who disclosed what to whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import convert, to_builtins

from securefair.protocol.codec import kind_of
from securefair.records import ExchangeRecord, LedgerRow, TrafficRow
from securefair.simulation.engine import Engine, ExchangeBytes, Hosted, RoundLog
from securefair.simulation.network import Link, Network
from securefair.simulation.traffic import joined, repeated_bytes

P = TypeVar("P", bound=Hosted)


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedState:
    """What every run has come to after a finished round: numbers only, and no secret key."""

    finished: int
    traffic: list[dict[str, object]]
    problems: list[str]
    repeated_bytes: int = 0


@dataclass(eq=False, kw_only=True)
class SimulatedRun(Generic[P]):
    """All participants of one algorithm and seed, which exchange bytes only.

    Attributes:
        algorithm: the name that records carry.
        backend: encryption engine.
        exchanges, problems: of all rounds so far.
        finished: rounds.
        earlier: traffic of the processes before this one.
        repeated_before: bytes, by the processes before this one.
    """

    algorithm: str
    engine: Engine[P]
    network: Network
    backend: str
    exchanges: list[ExchangeRecord] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    finished: int = 0
    earlier: list[TrafficRow] = field(default_factory=list)
    repeated_before: int = 0

    @property
    def ledger(self) -> list[LedgerRow]:
        """What every participant has disclosed so far."""
        return [
            row
            for name, own in self.engine.participants.items()
            for row in own.machine.ledger.rows(algorithm=self.algorithm, teacher=name)
        ]

    @property
    def traffic(self) -> list[TrafficRow]:
        """Bytes by sender, receiver and message type so far.

        What a later process sends once more because its keys are new is left out
        (`repeated_bytes`), so that the figures are those of a run without interruption.
        """
        return joined(self.earlier, self.network.traffic_rows(self.algorithm))

    @property
    def repeated_bytes(self) -> int:
        """Introductions that were sent although an earlier process had sent its own."""
        now = self.network.traffic_rows(self.algorithm)
        return self.repeated_before + repeated_bytes(self.earlier, now)

    def _carried_out(self, number: int) -> RoundLog:
        """One round, and what went wrong in it.

        Raises:
            SecureFairError: a participant's own step failed.
        """
        log = self.engine.round(number)
        log.check_own_work(number)
        self.problems += [f"{name} blames {b.peer}: {b.reason}" for name, b in log.blames]
        self.problems += [f"{name}: {failed.error}" for name, failed in log.failures]
        return log

    def _exchange(
        self,
        log: RoundLog,
        number: int,
        student: str,
        teacher: str,
        *,
        answered: bool,
        teacher_seconds: float,
        student_seconds: float,
    ) -> ExchangeRecord:
        size = log.sizes.get((student, teacher), ExchangeBytes())
        return ExchangeRecord(
            algorithm=self.algorithm,
            round=number,
            student=student,
            teacher=teacher,
            answered=answered,
            bytes_up=size.up,
            bytes_down=size.down,
            teacher_seconds=teacher_seconds,
            student_seconds=student_seconds,
        )

    def _so_far(self) -> dict[str, Any]:
        """The fields of `SimulatedState`."""
        return {
            "finished": self.finished,
            "traffic": to_builtins(self.traffic),
            "problems": list(self.problems),
            "repeated_bytes": self.repeated_bytes,
        }

    def _go_on(self, state: SimulatedState, exchanges: Sequence[ExchangeRecord]) -> None:
        self.finished, self.exchanges = state.finished, list(exchanges)
        self.earlier = convert(state.traffic, list[TrafficRow])
        self.problems, self.repeated_before = list(state.problems), state.repeated_bytes


def network_between(
    participants: Sequence[Hosted],
    *,
    seed: int,
    link: Link | None = None,
    links: Mapping[tuple[str, str], Link] | None = None,
) -> Network:
    """The network of a simulation.

    Args:
        participants: all of them.
        seed: of its faults.
        link: between all pairs; instantaneous by default.
        links: particular directions, by (sender, receiver).
    """
    return Network(
        [own.name for own in participants],
        classify=kind_of,
        link=link,
        links=links,
        rng=np.random.default_rng(seed),
    )
