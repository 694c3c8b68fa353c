"""Which peers are there: the one place that knows it, and whom a site begins its next round with.

A site begins a round once all peers that are here have ended the ones before, so that it finds them
in the same round. After a round's deadline nobody is waited for any longer, unless fewer would be
left than were agreed on: an outage burns no rounds. Who was away goes on in
the round in which most of the others are: the median of what they say, so that one peer alone
cannot make a site skip its rounds.

The machine, records, status and log ask here; what the machine remembers is brought up to date with
every input (`Attendance.news`). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from securefair.protocol.effects import Input, Presence
from securefair.protocol.states import RoundState
from securefair.protocol.turn import Memory
from securefair.report.presence import PeerLife

PATIENCE = 3
"""Rounds in a row in which a peer may cost a deadline, before it is left out of some."""


class Attendance(msgspec.Struct, frozen=True, kw_only=True):
    """What a site knows of its peers. Every change gives another one.

    Attributes:
        ready: the round that each peer said it may begin; 0 of one that said nothing.
        away: peers that nobody waits for: all that are silent, rest, left or are blocked.
        heard: peers that were heard of since this site's round began.
        announced: the round that this site said it may begin.
        left: peers that said that they leave; they do not come back.
        blocked: peers of which this site's operator wants nothing, until that is taken back.
        tardy: peers for whom a deadline passed since this site's last round ended.
        late: in how many rounds in a row that was so, of those of whom nothing came in time since.
        resting: peers that nobody waits for in this round, although they say that they are here.
        overtaken: most of those whom this site asked last had gone on to a later round. It waits
            for nobody then, or it would be late in each of theirs.
    """

    ready: Mapping[str, int] = {}
    away: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    announced: int = 0
    left: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    tardy: tuple[str, ...] = ()
    late: Mapping[str, int] = {}
    resting: tuple[str, ...] = ()
    overtaken: bool = False

    def among(self, peers: Sequence[str]) -> Attendance:
        """Of all these peers; what a store remembers lacks those that said nothing."""
        ready = {peer: self.ready.get(peer, 0) for peer in peers}
        return msgspec.structs.replace(self, ready=ready)

    # --- what is asked ---

    @property
    def shut(self) -> tuple[str, ...]:
        """Peers that do not come back, whatever arrives of them."""
        return tuple(dict.fromkeys((*self.left, *self.blocked)))

    def life(self, peer: str, *, heard: bool, blocked: bool = False) -> PeerLife:
        """How a peer is.

        Args:
            peer: its name.
            heard: whether anything came from it, ever.
            blocked: whether nothing of it is taken.
        """
        if blocked:
            return PeerLife.BLOCKED
        if peer in self.left:
            return PeerLife.LEFT
        if not heard:
            return PeerLife.UNHEARD
        return PeerLife.AWAY if peer in self.away else PeerLife.HERE

    def next_round(self, ended: int, rounds: int) -> int:
        """The round of so many to begin after the one that ended last (-1 before the first).

        Peers that waited may have ended the next round already, if it did not need this site: they
        wait again, and answer in it. Only if they are further, or did not answer, did they go on
        alone.
        """
        # Those away too, by what they said last: with one peer here the median would be its word.
        said = sorted(ready for peer, ready in self.ready.items() if peer not in self.shut)
        common = said[(len(said) - 1) // 2] if said else 0
        number = common if common > ended + (1 if self.overtaken else 2) else ended + 1
        return number if number < rounds else max(ended + 1, rounds - 1)

    def behind(self, round: int) -> tuple[str, ...]:
        """Peers, here or away, that have not said that they ended the rounds before this one."""
        return tuple(peer for peer, ready in self.ready.items() if ready < round)

    def waits_for(self, round: int) -> tuple[str, ...]:
        """Those of them that are here."""
        return tuple(peer for peer in self.behind(round) if peer not in self.away)

    def too_few(self, absent: Collection[str], fewest: int, rounds: int) -> bool:
        """Whether so many are absent that a deadline must not count.

        Nobody comes back of those that leave, are blocked, or are through with all rounds and
        absent. Where a block leaves nobody, it may be taken back: no round begins until then.

        Args:
            absent: peers that a round would go on without.
            fewest: peers that it needs.
            rounds: of the collaboration.
        """
        counted = self.ready.keys() - self.shut
        if not counted and self.blocked:
            return fewest > 0 and self.announced < rounds
        present = counted - set(absent)
        to_come = {peer for peer in counted if self.ready[peer] < rounds}
        return len(present) < min(fewest, len(present | to_come))

    def rests(self, round: int, gone: Collection[str], fewest: int, rounds: int) -> tuple[str, ...]:
        """Peers that cost a deadline in so many rounds that this one begins without them.

        One that says it is here and delivers nothing would cost one in every round. After
        `PATIENCE` of them it is left out of one round, and of twice as many after each more.

        Args:
            round: that is about to begin.
            gone: peers that it begins without anyway.
            fewest, rounds: as of `too_few`. Where too few would be left, nobody rests.
        """
        rest = tuple(
            peer
            for peer in self.ready
            if peer not in gone
            and (more := self.late.get(peer, 0) - PATIENCE) >= 0
            and round % 2 ** (more + 1)
        )
        return () if self.too_few((*self.away, *gone, *rest), fewest, rounds) else rest

    def news(self, memory: Memory, fewest: int, rounds: int) -> tuple[Input, ...]:
        """What a machine was not told yet: who is here again, and who is away from now on.

        In a round that too few would be left in nobody goes: its questions stay, as a block may be
        taken back, and another peer may come.

        Args:
            memory: of the machine.
            fewest, rounds: as of `too_few`.
        """
        changed = [name for name, peer in memory.peers.items() if peer.away != (name in self.away)]
        back = [Presence(name, here=True) for name in changed if name not in self.away]
        gone = [Presence(name, here=False) for name in changed if name in self.away]
        if memory.state is not RoundState.IDLE and self.too_few(self.away, fewest, rounds):
            gone = []
        return (*back, *gone)

    # --- what happens ---

    def hears(self, peer: str) -> Attendance:
        """After anything arrived from a peer."""
        kept = peer in self.resting
        if peer in self.shut or (peer in self.heard and (kept or peer not in self.away)):
            return self
        return msgspec.structs.replace(
            self,
            away=tuple(name for name in self.away if kept or name != peer),
            heard=_with(self.heard, peer),
        )

    def says(self, peer: str, ready: int) -> Attendance:
        """After a notice of a peer; what it said before is not taken back."""
        if ready <= self.ready.get(peer, 0):
            return self
        return msgspec.structs.replace(self, ready={**self.ready, peer: ready})

    def leaves(self, peer: str) -> Attendance:
        """After a peer said that it leaves: nobody waits for it any more."""
        away, left = _with(self.away, peer), _with(self.left, peer)
        return msgspec.structs.replace(self, away=away, left=left)

    def shuts(self, peer: str) -> Attendance:
        """After its operator blocks a peer; whether it had left by itself stays known."""
        return msgspec.structs.replace(self, blocked=_with(self.blocked, peer))

    def blocks(self, blocked: tuple[str, ...]) -> Attendance:
        """With these peers blocked, and no others: nobody waits for them, or does once more.

        Who is blocked without a word of `shuts` was by a version up to 0.2.0, which kept whom it
        blocked among those that left.
        """
        left = tuple(peer for peer in self.left if peer in self.blocked or peer not in blocked)
        back = {peer for peer in self.blocked if peer not in (*left, *blocked)}
        away = tuple(peer for peer in self.away if peer not in back)
        away += tuple(peer for peer in blocked if peer not in away)
        return msgspec.structs.replace(self, away=away, left=left, blocked=blocked)

    def takes_back(self, peer: str, *, blocked: bool) -> Attendance:
        """After its operator takes a peer again: as one that is blocked until the next start.

        Args:
            peer: its name; if it had left by itself, it stays away.
            blocked: whether it was, by any version.
        """
        now = self.blocks(_with(self.blocked, peer)) if blocked else self
        return now.shuts(peer)

    def recovered(self) -> Attendance:
        """Of a site that begins anew: those who do not come back stay away."""
        return Attendance(away=self.shut, left=self.left, blocked=self.blocked)

    def kept_waiting(self, peers: Collection[str]) -> Attendance:
        """After a deadline passed for these peers; it counts once a round."""
        new = [peer for peer in peers if peer not in (*self.tardy, *self.away)]
        late = {**self.late, **{peer: self.late.get(peer, 0) + 1 for peer in new}}
        return msgspec.structs.replace(self, tardy=(*self.tardy, *new), late=late)

    def wakes(self, resting: tuple[str, ...] = ()) -> Attendance:
        """These rest from now on: of the others, those are here that said something meanwhile."""
        back = {peer for peer in self.resting if peer in self.heard} - {*resting, *self.shut}
        away = tuple(peer for peer in self.away if peer not in back)
        return msgspec.structs.replace(self, away=away, resting=resting)

    def begins(
        self, round: int, gone: tuple[str, ...], resting: tuple[str, ...] = ()
    ) -> Attendance:
        """As a round begins without those who are gone, and those who rest."""
        now = self.wakes(resting)
        away = tuple(dict.fromkeys((*now.away, *gone, *resting)))
        announced = max(self.announced, round)
        return msgspec.structs.replace(now, heard=(), away=away, announced=announced)

    def ends(self, round: int, overtaken: bool) -> Attendance:
        """As a round is over, and this site says that it may begin the next one."""
        late = {
            peer: count for peer, count in self.late.items() if peer in (*self.tardy, *self.away)
        }
        return msgspec.structs.replace(
            self, announced=round + 1, overtaken=overtaken, late=late, tardy=()
        )


def _with(names: tuple[str, ...], one: str) -> tuple[str, ...]:
    return names if one in names else (*names, one)
