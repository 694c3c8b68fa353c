"""One participant on a real clock, over a store: the engine of a site.

It decides what comes next: an input, the beginning of a round, or the end of a wait. What an input
does is one transaction (`feeding`); who is there, and whether that is enough, `attendance` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from securefair.collaboration.host import Host
from securefair.protocol.codec import Limits
from securefair.protocol.effects import BeganAnew, Begin, Expired, Waited
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.states import RoundState
from securefair.sites.site.arrivals import arrived
from securefair.sites.site.feeding import Feeder
from securefair.sites.site.letters import Letters, take_leave, unread
from securefair.sites.site.notices import Notice
from securefair.sites.site.records import SiteState
from securefair.sites.site.renewing import Renewal
from securefair.sites.site.schedule import Timetable
from securefair.sites.site.working import Aside, unheard, worked
from securefair.storage import Item, Store
from securefair.storage.generation import Generation

LOOK_AGAIN, NOTE_TIME, ASK_AGAIN = 5.0, 30.0, 600.0
"""Seconds after which a waiting site looks at its clock; notes the time; repeats its questions."""


class Site:
    """Hosts one participant.

    Args:
        host: the participant, as it was restored from `store`.
        post: to its peers, over the same store.
        store: open.
        limits: most bytes of every message.
        schedule: rounds, coins and clocks.
        aside: hears of every blame and of every job that failed, inside their transaction.
        renewal: patients with whom it goes on, from the next round or the end of the last.
        generation: of the store and its keystore.
    """

    def __init__(
        self,
        host: Host,
        post: Letters,
        store: Store,
        limits: Limits,
        schedule: Timetable,
        aside: Aside = unheard,
        renewal: Renewal | None = None,
        generation: Generation | None = None,
    ) -> None:
        self._host, self._post, self._store, self._limits = host, post, store, limits
        held = generation or Generation()
        self._feeder = Feeder(host, post, store, limits, schedule, aside, held)
        self._renewal = renewal
        self._settled = self._looked = False
        self._asked = -math.inf  # monotonic seconds, when questions were repeated

    @property
    def machine(self) -> ParticipantMachine:
        """What decides here."""
        return self._host.machine

    @property
    def state(self) -> SiteState:
        """What the site remembers besides its machine."""
        return self._feeder.state

    @property
    def left(self) -> float:
        """Seconds to the deadline: of the round, or after the last one of the waiting."""
        return self._feeder.deadline.left

    @property
    def finished(self) -> bool:
        """Whether the last round is over here."""
        memory = self.machine.memory
        return memory.round >= self._schedule.rounds - 1 and memory.state is RoundState.IDLE

    @property
    def over(self) -> bool:
        """Whether nobody needs this site any more, as far as it can wait for that."""
        if not self.finished or self._post.fault is not None:
            return False
        peers, schedule = self.state.peers, self._schedule
        if self.left <= 0:
            behind = peers.behind(schedule.rounds)
            return not (self.state.since or peers.too_few(behind, schedule.needs, schedule.rounds))
        if peers.waits_for(schedule.rounds):
            return False
        with self._store.view() as tx:
            read = peers.ready.keys() - set(peers.left)
            return not any(self._post.unconfirmed(tx, peer) for peer in read)

    @property
    def _schedule(self) -> Timetable:
        return self._feeder.schedule

    def run(
        self, over: Callable[[int], None] = lambda _: None, beat: Callable[[], None] = lambda: None
    ) -> None:
        """Take turns until the rounds are over.

        Args:
            over: is told of each round that is.
            beat: is called before every turn, some seconds apart at most where nothing is computed.

        Raises:
            SecureFairError: the store failed, or is not what peers remember; or the own training
                failed. What was committed stays.
        """
        while True:
            beat()
            since, before = self._post.changes, self.machine.memory
            if self.turn():
                after = self.machine.memory
                if after.state is RoundState.IDLE and before.state is not RoundState.IDLE:
                    over(after.round)
                continue
            self._settle()
            if self.over:
                take_leave(self._post, self._schedule)
                self.close()
                return
            if not self.finished and self._host.idle():
                continue
            self._post.wait(since, min(self.left, LOOK_AGAIN) if self.left > 0 else LOOK_AGAIN)

    def _settle(self) -> None:
        """Once everyone has ended all rounds, only receipts are missing: some may never come."""
        if self._settled or not self.finished:
            return
        if not self.state.peers.waits_for(self._schedule.rounds):
            self._settled = True
            self._feeder.deadline.set(min(self.left, self._schedule.receipts))

    def close(self) -> None:
        """See `Feeder.close`."""
        self._feeder.close()

    def turn(self, *, rounds: int | None = None) -> bool:
        """Take one input, if there is one; never waits.

        Args:
            rounds: that may begin, counted from the first; None: all.

        Raises:
            SecureFairError: as `run`.
        """
        if self._post.fault is not None:
            raise self._post.fault
        if self._feeder.deadline.age >= NOTE_TIME:
            self._feeder.note_time()
        memory = self.machine.memory
        if memory.running:
            self._feeder.feed(worked(self._host, next(iter(memory.running.values()))))
            return True
        if not self._looked and self._see_blocked():
            return True
        with self._store.view() as tx:
            item = tx.inbox.next()
        if item is not None:
            self._read(item)
            return True
        if memory.state is not RoundState.IDLE:
            return self.left <= 0 and self._pass_deadline()
        if self.state.peers.announced <= memory.round:
            self._come_back()
            return True
        if not self.finished:
            return self._begin_when_due(rounds)
        behind = self.state.peers.behind(self._schedule.rounds)
        return (self.left <= 0 and bool(self._held(behind))) or self._renew_at_end()

    # --- inputs ---

    def _see_blocked(self) -> bool:
        """Nobody is blocked, or taken back, while a site runs."""
        self._looked = True
        before, memory, schedule = self.state.peers, self.machine.memory, self._schedule
        with self._store.view() as tx:
            blocked = tuple(peer for peer in self._post.peers if self._post.is_blocked(tx, peer))
        now = before.blocks(blocked)
        back = tuple(peer for peer in before.blocked if peer not in now.shut)
        self._feeder.knows(now)
        if back or now.news(memory, schedule.needs, schedule.rounds):
            self._feeder.feed(*map(BeganAnew, back), greet=back)
            return True
        return False

    def _read(self, item: Item) -> None:
        peers, rounds = self.state.peers, self._schedule.rounds
        arrival = arrived(item, peers, rounds=rounds, limits=self._limits)
        self._feeder.knows(arrival.peers)
        blame, greet = (arrival.peer, arrival.blame), (arrival.peer,) * arrival.newcomer
        self._feeder.feed(*arrival.inputs, item=item, blame=blame, greet=greet)

    # --- rounds ---

    def _come_back(self) -> None:
        """It was recovered: nobody knows that it is here, and it does not know how far others are.

        Whoever hears of it says so; it waits for them as long as for peers that ended a round.
        """
        self._feeder.deadline.set(self._schedule.linger)
        self._feeder.feed(notice=Notice(self.machine.memory.round + 1))

    def _begin_when_due(self, rounds: int | None) -> bool:
        peers, memory, schedule = self.state.peers, self.machine.memory, self._schedule
        number = peers.next_round(memory.round, schedule.rounds)
        if rounds is not None and number >= rounds:
            return False
        gone: tuple[str, ...] = ()
        if memory.round >= 0:
            behind = peers.waits_for(number)
            if behind and not peers.overtaken:
                if self.left > 0:
                    return False
                gone = tuple(peer for peer in behind if peer not in peers.heard)
                peers = peers.kept_waiting(behind)
            with self._store.view() as tx:
                there = [peer for peer in peers.ready if peer not in (*peers.away, *gone)]
                gone += unread(self._post, tx, there, self.machine.settings)
        if (waits := self._held((*peers.away, *gone))) is not None:
            return waits
        rest = peers.rests(number, gone, schedule.needs, schedule.rounds)
        renewal = self._take_up()
        self._host.begin(number)
        coins = {peer: schedule.coins(number, peer) for peer in peers.ready}
        notice = Notice(number) if peers.announced < number else None
        self._feeder.knows(peers.begins(number, gone, rest), missing=(), since=0.0)
        begin = Begin(number, coins, teacher_version=number, renews=renewal is not None)
        self._feeder.feed(begin, notice=notice, renewal=renewal)
        return True

    def _take_up(self) -> Renewal | None:
        renewal, self._renewal = self._renewal, None
        if renewal is not None:
            self._host.renew(renewal.data)
        return renewal

    def _renew_at_end(self) -> bool:
        """After the last round nobody needs what rests on the earlier patients, once it is over."""
        if not self.over or (renewal := self._take_up()) is None:
            return False
        self._feeder.renew(renewal)
        return True

    # --- time ---

    def _pass_deadline(self) -> bool:
        """The deadline of a round has passed: it counts, or the site goes on waiting."""
        peers, awaited = self.state.peers, self.machine.awaited
        if (waits := self._held((*peers.away, *awaited))) is not None:
            return waits or self._ask_again()
        self._feeder.knows(peers.kept_waiting(awaited))
        self._feeder.feed(Expired(self.machine.memory.round))
        return True

    def _held(self, absent: Collection[str]) -> bool | None:
        """Whether anything changed while a deadline counts for nothing; None: it counts."""
        before, schedule = self.state, self._schedule
        after = before.held(absent, schedule.needs, schedule.rounds, schedule.wall())
        if after is None or after == before:
            return None if after is None else False
        self._feeder.state = after
        if not after.since:
            self._feeder.deadline.set(schedule.linger)
        self._feeder.feed()
        return True

    def _ask_again(self) -> bool:
        """A question may be lost that a peer let be, or that was thrown away with a block."""
        now = self._schedule.monotonic()
        if now < self._asked + ASK_AGAIN:
            return False
        self._asked = now
        self._feeder.feed(Waited())
        return True
