"""Rounds of sites in one process, and the records that whoever sees everybody makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.host import FittedToAll
from securefair.collaboration.observer import Observer, Seen
from securefair.model.stored import Function
from securefair.model.transfer import LinearEstimates
from securefair.protocol.messages import DOWN, UP, name_of
from securefair.records import ExchangeRecord, LedgerRow, RoundRecord, TrafficRow
from securefair.sites.simulation.town import Town

if TYPE_CHECKING:
    from securefair.model.heads import Head

_UP, _DOWN = ({name_of(kind) for kind in kinds} for kinds in (UP, DOWN))


class SimulatedRun:
    """All participants of one algorithm and seed. Iterate `rounds` to run it.

    Args:
        town: the sites.
        observer: of this run.

    Attributes:
        exchanges: of all rounds so far.
        finished: rounds.
    """

    def __init__(self, town: Town, observer: Observer[Any]) -> None:
        self.town, self.observer = town, observer
        self.exchanges: Sequence[ExchangeRecord] = []
        self.finished = 0

    @property
    def hosts(self) -> Mapping[str, Any]:
        """Everyone, by name."""
        return self.town.hosts

    def rounds(self, count: int) -> Iterator[RoundRecord]:
        """Run until so many rounds are finished, counted from the first, or nothing is left to do.

        Raises:
            SecureFairError: a participant's own step failed (its training diverged, say), or it
                could not prepare what it uploads.
        """
        for number in range(self.finished, count):
            if not self.observer.begins(number, self.hosts):
                return
            ends = self.town.play(number)
            record = self.observer.ends(number, self.hosts, ends)
            sizes = self._sizes(number)
            self.exchanges = [
                *self.exchanges,
                *(
                    ExchangeRecord(
                        algorithm=self.observer.algorithm,
                        round=number,
                        student=one.student,
                        teacher=one.teacher,
                        answered=one.answered,
                        bytes_up=sizes["up", one.student, one.teacher],
                        bytes_down=sizes["down", one.student, one.teacher],
                        teacher_seconds=one.teacher_seconds,
                        student_seconds=one.student_seconds,
                    )
                    for one in self.observer.exchanges(number, self.hosts, ends)
                ),
            ]
            self.finished = number + 1
            yield record

    @property
    def ledger(self) -> list[LedgerRow]:
        """What every participant has disclosed so far."""
        return self.observer.ledger(self.hosts)

    @property
    def problems(self) -> list[str]:
        """What participants blamed each other for, or what failed."""
        return self.town.problems + self.observer.problems

    @property
    def traffic(self) -> list[TrafficRow]:
        """Bytes by sender, receiver and message type so far."""
        rows: Counter[tuple[str, str, str]] = Counter()
        counts: Counter[tuple[str, str, str]] = Counter()
        for sender, post in self.town.posts.items():
            for number, sent in post.counts.items():
                for (receiver, kind), count in sent.items():
                    counts[sender, receiver, kind] += count
                    rows[sender, receiver, kind] += post.bytes[number][receiver, kind]
        return [
            TrafficRow(
                algorithm=self.observer.algorithm,
                sender=sender,
                receiver=receiver,
                message=kind,
                count=counts[sender, receiver, kind],
                bytes=size,
            )
            for (sender, receiver, kind), size in sorted(rows.items())
        ]

    def facts(self) -> RunFacts:
        """What it leaves behind, once it is over."""
        facts = self.observer.facts(self.hosts)
        return msgspec.structs.replace(facts, traffic=self.traffic, problems=self.problems)

    def models(self) -> Mapping[str, Function]:
        """Everyone's model as it is now, by name, to be kept."""
        return {name: host.model() for name, host in self.hosts.items()}

    def heads(self) -> Mapping[str, Head]:
        """The same as they train, where they are heads; none otherwise."""
        return self.observer.heads(self.hosts)

    def estimates(self) -> Mapping[str, LinearEstimates]:
        """Everyone's coefficients, where models have some."""
        return self.observer.estimates(self.hosts)

    def fitted_to_all(self) -> Mapping[str, FittedToAll]:
        """Models fitted anew to all own samples, where the kind can."""
        return self.observer.fitted_to_all(self.hosts)

    @property
    def seen(self) -> Seen:
        """What no site's store remembers."""
        return self.observer.seen

    def go_on(self, seen: Seen, finished: int, exchanges: Sequence[ExchangeRecord]) -> None:
        """Go on from opened stores, after so many finished rounds with these exchanges."""
        self.observer.go_on(seen, self.hosts)
        self.finished, self.exchanges = finished, list(exchanges)

    def close(self) -> None:
        """Close all stores."""
        self.town.close()

    def _sizes(self, number: int) -> Counter[tuple[str, str, str]]:
        """Bytes of a round by direction, student and teacher: queries go up, answers down."""
        found: Counter[tuple[str, str, str]] = Counter()
        for sender, post in self.town.posts.items():
            for (receiver, kind), size in post.bytes.get(number, Counter()).items():
                if kind in _UP:
                    found["up", sender, receiver] += size
                elif kind in _DOWN:
                    found["down", receiver, sender] += size
        return found
