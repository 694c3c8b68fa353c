"""What a site remembers and reports of its rounds: what *it* may know, and nobody else's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from securefair.collaboration.host import Host
from securefair.collaboration.observer import SiteRecord
from securefair.protocol.effects import RoundOver
from securefair.protocol.settings import SumSettings
from securefair.sites.project.project import Project
from securefair.sites.site.attendance import Attendance
from securefair.storage import Transaction

HOST, RECORD, _STATE = "host ", "record ", "site state"
RECOVERED, MODEL, LEFT = "recovered", "site model", "site left"
_PEERS, _NEIGHBOURS = "site peers", "site neighbours"


class SiteState(msgspec.Struct, frozen=True, kw_only=True, rename={"peers": "pace"}):
    """What a site remembers besides its machine. In a store `peers` is called as it once was.

    Attributes:
        peers: who of them is there, and their rounds.
        left: seconds to the deadline when it was written; time in which the site is down does not
            count.
        missing: peers for whom it waits although a deadline has passed; too few are left.
        since: when it began to, seconds since 1970; 0 where it does not.
        closed: the audit log has its closing row, and nothing came in since.
        began: when it took its first turn, seconds since 1970; 0 where it took none, or an earlier
            version did. A recovered site begins anew.
        unanswered: why it could not make its last answer, though nobody else was at fault; "" where
            it could.
    """

    peers: Attendance = Attendance()
    left: float = 0.0
    missing: tuple[str, ...] = ()
    since: float = 0.0
    closed: bool = False
    began: float = 0.0
    unanswered: str = ""

    def held(
        self, absent: Collection[str], fewest: int, rounds: int, now: float
    ) -> SiteState | None:
        """What a site remembers as a deadline counts for nothing; None: it counts.

        Once enough are back it waits for nobody any more (`since` is 0), and everybody gets the
        time of a round again. Nobody waits for who is shut out.

        Args:
            absent: peers that it would go on without.
            fewest, rounds: as of `Attendance.too_few`.
            now: seconds since 1970.
        """
        if self.peers.too_few(absent, fewest, rounds):
            missing = tuple(peer for peer in dict.fromkeys(absent) if peer not in self.peers.shut)
            return replace(self, peers=self.peers.wakes(), missing=missing, since=self.since or now)
        return replace(self, missing=(), since=0.0) if self.since else None


def learned_from(records: Iterable[SiteRecord]) -> tuple[str, ...]:
    """Peers whose answers or models entered the own model in any round, sorted."""
    return tuple(sorted({peer for one in records for peer in (*one.opened, *one.combined)}))


def rounds_away(records: Iterable[SiteRecord]) -> dict[str, int]:
    """In how many rounds each peer was away at the end; those who never were are left out."""
    return dict(sorted(Counter(peer for one in records for peer in one.away).items()))


def record_of(over: RoundOver, host: Host, away: tuple[str, ...]) -> SiteRecord:
    """The record of a round that has just ended."""
    summary = over.summary
    return SiteRecord(
        round=over.round,
        forced=summary.forced,
        asked=summary.asked,
        opened=summary.opened,
        declined={peer: reason.value for peer, reason in summary.declined.items()},
        failed=summary.failed,
        missed=summary.missed,
        offered=tuple(sorted(summary.offered)),  # they come in any order
        combined=summary.combined,
        lost=summary.lost,
        received=dict(host.received(over.round)),
        reputations=dict(host.reputations()),
        left_out=tuple(host.left_out()),
        away=away,
        measured=dict(host.measured(over.round)),
        temperature=host.temperature,
        step_error=summary.step_error,
        sum_error=summary.sum_error,
        sum_declined={peer: reason.value for peer, reason in summary.sum_declined.items()},
        doubted=summary.doubted,
    )


def state_in(tx: Transaction) -> SiteState:
    """What a site remembers; as at its start where it has taken no turn."""
    data = tx.memory.get(_STATE)
    return SiteState() if data is None else msgspec.msgpack.decode(data, type=SiteState)


def was_recovered(tx: Transaction) -> bool:
    """Whether nobody knows all that the site let out: its store was lost or put back."""
    return tx.memory.get(RECOVERED) is not None


def keep_state(tx: Transaction, state: SiteState) -> None:
    """Remember this from now on."""
    tx.memory.put(_STATE, msgspec.msgpack.encode(state))


def keep_record(tx: Transaction, record: SiteRecord) -> None:
    """Remember a round that is over, or remember it anew."""
    tx.memory.put(f"{RECORD}{record.round:06d}", msgspec.json.encode(record))


def measure_again(tx: Transaction, host: Host) -> None:
    """Bring what the last record measured up to date: after it the own patients changed."""
    records = stored_records(tx)
    if records:
        last = records[-1]
        again = replace(
            last, measured=dict(host.measured(last.round)), temperature=host.temperature
        )
        keep_record(tx, again)


def note_peers(tx: Transaction, met: tuple[str, ...]) -> None:
    """Keep whom this site exchanges with, for whoever reads its store without planning anew."""
    tx.memory.put(_PEERS, msgspec.json.encode(met))


def peers_of(tx: Transaction, project: Project, name: str) -> tuple[str, ...]:
    """Whom a site exchanges with; all others where it was never opened."""
    data = tx.memory.get(_PEERS)
    if data is None:
        return tuple(other for other in project.names if other != name)
    return msgspec.json.decode(data, type=tuple[str, ...])


def note_neighbours(tx: Transaction, sums: SumSettings | None) -> None:
    """Keep whose models this site may average and how many it needs, for whoever reads its store
    without planning anew; nobody's where models are not averaged."""
    if sums is not None and sums.averages:
        known = sums.neighbours, sums.fewest(sums.name)
        tx.memory.put(_NEIGHBOURS, msgspec.json.encode(known))


def neighbours_of(tx: Transaction) -> tuple[tuple[str, ...], int]:
    """Whose models this site may average, and how many it needs: nobody's and 0 where nothing was
    noted."""
    data = tx.memory.get(_NEIGHBOURS)
    return ((), 0) if data is None else msgspec.json.decode(data, type=tuple[tuple[str, ...], int])


def stored_pieces(tx: Transaction) -> dict[str, bytes]:
    """What the participant gave out to be remembered, by its own names."""
    pieces = {name.removeprefix(HOST): tx.memory.get(name) for name in tx.memory.names(HOST)}
    return {name: piece for name, piece in pieces.items() if piece is not None}


def rounds_over(records: Sequence[SiteRecord]) -> int:
    """How many rounds are over at a site: those before its last one too that it missed and skipped,
    of which it has no record."""
    return max((one.round + 1 for one in records), default=0)


def stored_records(tx: Transaction) -> list[SiteRecord]:
    """All rounds that are over."""
    found = []
    for name in tx.memory.names(RECORD):
        data = tx.memory.get(name)
        if data is not None:
            found.append(msgspec.json.decode(data, type=SiteRecord))
    return found
