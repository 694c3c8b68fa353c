"""What a simulation of a description sees: two sums, against the same in the clear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.observer import AskedPeers, Ends, Observer, Seen
from securefair.collaboration.table_one.host import SUMS, TableHost
from securefair.collaboration.transfer.observer import TransferObserver
from securefair.records import RoundRecord

Hosts = Mapping[str, TableHost]


class TableObserver(TransferObserver[TableHost]):
    """See `TransferObserver`."""

    def begins(self, round: int, hosts: Hosts) -> bool:
        """See `Observer`."""
        self._asking = list(hosts)
        return round < len(SUMS)

    def ends(self, round: int, hosts: Hosts, ends: Ends) -> RoundRecord:
        """See `Observer`."""
        self.lost += sum(len({*one.lost, *one.missed}) for one in ends.values())
        names, rows = list(hosts), [ends[name] for name in hosts]
        for name, own in hosts.items():
            if SUMS[round] not in own.notes.released:
                self.problems.append(
                    f"{name} opened no sum in round {round + 1}, and gets no table: a sum is over "
                    "all other hospitals"
                )
                continue
            others = [hosts[peer].added(round) for peer in self.agreement.teachers_of(name)]
            self.audit.compare(own.notes.released[SUMS[round]], np.sum(others, axis=0))
        nothing: list[list[float | None]] = [[None] * len(names) for _ in names]
        return RoundRecord(
            algorithm=self.algorithm,
            round=round,
            forced=False,
            accuracy=[one.measured["accuracy"] for one in rows],
            cross_entropy=[one.measured["cross_entropy"] for one in rows],
            reputation=nothing,
            alignment=nothing,
            distillation_loss=nothing,
            asked=[[name != own for name in names] for own in names],
            answered=[
                [name != own and SUMS[round] in hosts[own].notes.released for name in names]
                for own in names
            ],
            headline=self.agreement.outcome.headline,
        )

    def exchanges(self, round: int, hosts: Hosts, ends: Ends) -> Iterator[AskedPeers]:
        """See `Observer`."""
        del ends
        for name, own in hosts.items():
            for teacher in self.agreement.teachers_of(name):
                yield AskedPeers(
                    student=name,
                    teacher=teacher,
                    answered=SUMS[round] in own.notes.released,
                    teacher_seconds=hosts[teacher].notes.answered_seconds.get(name, 0.0),
                    student_seconds=0.0,
                )

    def facts(self, hosts: Hosts) -> RunFacts:
        """See `Observer`: nobody's word counts to anybody."""
        return replace(super().facts(hosts), sums=None, trust={})

    def go_on(self, seen: Seen, hosts: Hosts) -> None:
        """See `Observer`."""
        Observer.go_on(self, seen, hosts)
