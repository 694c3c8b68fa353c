"""One participant on a real clock, over a store: the engine of a site.

Every input of its machine is one transaction: what the machine remembers, what the participant
computed, records, ledger, audit log and what is to be sent, all or nothing; the inbox row that
caused it goes with it. Nothing leaves before, nor before the keystore knows that the store has gone
on. So the process may end at any moment, and goes on where it was: jobs that were under way run
again, and nobody has seen their first results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

import msgspec

from securefair.collaboration.host import Host
from securefair.model.stored import to_bytes
from securefair.protocol.codec import Limits
from securefair.protocol.effects import (
    AskedAgain,
    Begin,
    Blame,
    Effect,
    Expired,
    Failed,
    Input,
    RoundOver,
    Send,
    SetDeadline,
    Waited,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.states import RoundState
from securefair.sites.project.card import utc
from securefair.sites.site import records
from securefair.sites.site.arrivals import arrived, presences, shut_out
from securefair.sites.site.keeping import Keeper
from securefair.sites.site.letters import Letters, let_be, take_leave, unread, write
from securefair.sites.site.notes import end_round, end_site, note_answers, note_mistake
from securefair.sites.site.notices import Notice, notice_frame
from securefair.sites.site.renewing import Renewal
from securefair.sites.site.schedule import Timetable
from securefair.sites.site.waiting import held, nobody_needs, resting
from securefair.sites.site.working import Aside, unheard, worked
from securefair.storage import Item, Store, Transaction
from securefair.storage.generation import Generation

MODEL, LEFT = "site model", "site left"
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
        self._host, self._post, self._store = host, post, store
        self._generation = Generation() if generation is None else generation
        self._limits, self._schedule = limits, schedule
        self._aside, self._renewal, self._peers = aside, renewal, post.peers
        with store.view() as tx:
            self._state = records.state_in(tx)
            self._keeper = Keeper(tx, host, self._generation)
        self._anchor = schedule.monotonic()
        self._settled = self._looked = False
        self._sends = False  # in this transaction
        self._asked = -math.inf  # monotonic seconds, when questions were repeated
        self._told = {peer: one.total for peer, one in self.machine.ledger.accounts.items()}

    @property
    def machine(self) -> ParticipantMachine:
        """What decides here."""
        return self._host.machine

    @property
    def state(self) -> records.SiteState:
        """What the site remembers besides its machine."""
        return self._state

    @property
    def finished(self) -> bool:
        """Whether the last round is over here."""
        memory = self.machine.memory
        return memory.round >= self._schedule.rounds - 1 and memory.state is RoundState.IDLE

    @property
    def over(self) -> bool:
        """Whether nobody needs this site any more, as far as it can wait for that."""
        known = self._state, self.left, self._schedule, self._peers, self._unconfirmed
        return self.finished and self._post.fault is None and nobody_needs(*known)

    def _unconfirmed(self) -> bool:
        with self._store.view() as tx:
            return any(self._post.unconfirmed(tx, peer) for peer in self._peers)

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
        pace, rounds = self._state.pace, self._schedule.rounds
        if self.finished and not self._settled and not pace.waits_for(rounds, self._peers):
            self._settled = True
            self._set_deadline(min(self.left, self._schedule.receipts))

    def close(self) -> None:
        """Write what was noted since the last round: one row, also where that is nothing.

        Another one is written only if something came in since, whatever it was.
        """
        if self._state.closed:
            return
        with self._store.transaction() as tx:
            end_site(tx, at=utc(self._schedule.wall()))
            self._save(tx, closed=True)

    def turn(self, *, rounds: int | None = None) -> bool:
        """Take one input, if there is one; never waits.

        Args:
            rounds: that may begin, counted from the first; None: all.

        Raises:
            SecureFairError: as `run`.
        """
        if self._post.fault is not None:
            raise self._post.fault
        if self._schedule.monotonic() - self._anchor >= NOTE_TIME:
            self._note_time()
        memory = self.machine.memory
        if memory.running:
            self._feed(worked(self._host, next(iter(memory.running.values()))))
            return True
        if not self._looked and self._see_blocked():
            return True
        with self._store.view() as tx:
            item = tx.inbox.next()
        if item is not None:
            self._read(item)
            return True
        if memory.state is not RoundState.IDLE:
            if self.left > 0:
                return False
            absent = *self._state.pace.away, *self.machine.awaited
            if (waits := self._held(absent)) is not None:
                return waits or self._ask_again()
            late = self._state.pace.kept_waiting(self.machine.awaited)
            self._state = replace(self._state, pace=late)
            self._feed(Expired(memory.round))
            return True
        if self._state.pace.announced <= memory.round:
            self._come_back()
            return True
        if not self.finished:
            return self._begin_when_due(rounds)
        behind = self._state.pace.behind(self._schedule.rounds, self._peers)
        return (self.left <= 0 and bool(self._held(behind))) or self._renew_at_end()

    # --- inputs ---

    def _see_blocked(self) -> bool:
        """Nobody is blocked, or taken back, while a site runs."""
        self._looked = True
        with self._store.view() as tx:
            blocked = tuple(peer for peer in self._peers if self._post.is_blocked(tx, peer))
        shut = shut_out(self._state, blocked, self.machine.memory, self._schedule)
        self._state = replace(self._state, pace=shut.pace)
        if shut.inputs:
            self._feed(*shut.inputs, greet=shut.back)
        return bool(shut.inputs)

    def _read(self, item: Item) -> None:
        rounds = self._schedule.rounds
        arrival = arrived(item, self._state.pace, rounds=rounds, limits=self._limits)
        self._state = replace(self._state, pace=arrival.pace)
        greet = (arrival.peer,) * arrival.newcomer
        self._feed(*arrival.inputs, item=item, blame=(arrival.peer, arrival.blame), greet=greet)

    def _come_back(self) -> None:
        """It was recovered: nobody knows that it is here, and it does not know how far others are.

        Whoever hears of it says so; it waits for them as long as for peers that ended a round.
        """
        self._set_deadline(self._schedule.linger)
        self._feed(notice=Notice(self.machine.memory.round + 1))

    def _begin_when_due(self, rounds: int | None) -> bool:
        pace, memory = self._state.pace, self.machine.memory
        number = pace.next_round(memory.round, self._peers, self._schedule.rounds)
        if rounds is not None and number >= rounds:
            return False
        gone: tuple[str, ...] = ()
        if memory.round >= 0:
            behind = pace.waits_for(number, self._peers)
            if behind and not pace.overtaken:
                if self.left > 0:
                    return False
                gone, pace = pace.silent(number, self._peers), pace.kept_waiting(behind)
            with self._store.view() as tx:
                there = [peer for peer in self._peers if peer not in (*pace.away, *gone)]
                gone += unread(self._post, tx, there, self.machine.settings)
        if (waits := self._held((*pace.away, *gone))) is not None:
            return waits
        rest = resting(pace, number, gone, self._schedule, self._peers)
        # Who was blocked in a round that held is unknown to the machine.
        events = presences(back=pace.rested(rest), gone=(*gone, *rest, *pace.shut))
        renewal = self._take_up()
        self._host.begin(number)
        coins = {peer: self._schedule.coins(number, peer) for peer in self._peers}
        notice = Notice(number) if pace.announced < number else None
        pace = pace.begins(number, gone, rest)
        self._state = replace(self._state, pace=pace, missing=(), since=0.0)
        begin = Begin(number, coins, teacher_version=number, renews=renewal is not None)
        self._feed(*events, begin, notice=notice, renewal=renewal)
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
        with self._store.transaction(self._generation.note) as tx:
            renewal.taken_up(tx)
            tx.memory.put(MODEL, to_bytes(self._host.model()))
            records.measure_again(tx, self._host)
            self._save(tx)
        return True

    def _feed(
        self,
        *events: Input,
        item: Item | None = None,
        blame: tuple[str, str] = ("", ""),
        notice: Notice | None = None,
        greet: tuple[str, ...] = (),
        renewal: Renewal | None = None,
    ) -> None:
        """One transaction; if it cannot be committed, this object is of no use any more."""
        with self._store.transaction(self._generation.note) as tx:
            if item is not None:
                tx.inbox.done(item)
            if renewal is not None:
                renewal.taken_up(tx)
            if blame[1]:
                self._carry_out(tx, Blame(*blame))
            for event in events:
                if isinstance(event, Failed):
                    self._aside(tx, event)
                if let_be(self._post, tx, event, self.machine.settings):
                    continue
                effects = self.machine.handle(event)
                note_answers(tx, self.machine.ledger.accounts, self._told)  # before a round's row
                for effect in effects:
                    self._carry_out(tx, effect)
            if notice is not None:
                self._announce(tx, notice, self._peers)
            # Who was recovered, or blocked, does not know how far the others are.
            self._announce(tx, Notice(self._state.pace.announced), greet)
            self._save(tx)
        self._sends = False
        self._post.announce()

    # --- effects ---

    def _carry_out(self, tx: Transaction, effect: Effect) -> None:
        match effect:
            case Send():
                write(self._post, tx, effect, self._limits, self.machine.memory.round)
                self._sends = True
            case SetDeadline(seconds=seconds):
                self._set_deadline(seconds)
            case Blame() | AskedAgain():
                if isinstance(effect, Blame):
                    self._aside(tx, effect)
                note_mistake(tx, effect)
            case RoundOver():
                self._end_round(tx, effect)

    def _end_round(self, tx: Transaction, over: RoundOver) -> None:
        pace = self._state.pace
        never = (peer for peer in self._peers if not self._post.has_heard(tx, peer))
        away = tuple(dict.fromkeys((*pace.away, *never)))
        tx.memory.put(MODEL, to_bytes(self._host.model()))
        records.keep_record(tx, records.record_of(over, self._host, away))
        at, opened = utc(self._schedule.wall()), len(over.summary.opened)
        end_round(tx, round=over.round, opened=opened, at=at)
        if over.round == self._schedule.rounds - 1:
            self._set_deadline(self._schedule.linger)
        pace = pace.ends(over.round, over.summary.overtaken)
        self._state = replace(self._state, pace=pace, missing=(), since=0.0)
        self._announce(tx, Notice(over.round + 1), self._peers)

    def _announce(self, tx: Transaction, notice: Notice, peers: Collection[str]) -> None:
        pace = msgspec.structs.replace(self._state.pace, announced=notice.ready)
        self._state = replace(self._state, pace=pace)
        for peer in peers:
            self._post.send(tx, peer, notice_frame(notice), self.machine.memory.round)

    def _save(self, tx: Transaction, *, closed: bool = False) -> None:
        began = self._state.began or self._schedule.wall()
        self._state = replace(self._state, left=self.left, closed=closed, began=began)
        self._anchor = self._schedule.monotonic()
        if not self._store.lasts:
            return  # nobody goes on with it
        self._keeper.keep(tx, sends=self._sends)
        records.keep_state(tx, self._state)

    # --- time ---

    @property
    def left(self) -> float:
        """Seconds to the deadline: of the round, or after the last one of the waiting."""
        return self._state.left - (self._schedule.monotonic() - self._anchor)

    def _note_time(self) -> None:
        """So that a site which is stopped more often than a deadline passes comes to one."""
        self._set_deadline(self.left)
        if self._store.lasts:
            with self._store.transaction() as tx:
                records.keep_state(tx, self._state)

    def _held(self, absent: Collection[str]) -> bool | None:
        """Whether anything changed while a deadline counts for nothing; None: it counts."""
        after = held(self._state, absent, self._schedule, self._peers)
        if after is None or after == self._state:
            return None if after is None else False
        back = () if after.pace.resting else self._state.pace.rested(())
        self._state = after
        if not after.since:
            self._set_deadline(self._schedule.linger)
        self._feed(*presences(back=back))
        return True

    def _ask_again(self) -> bool:
        """A question may be lost that a peer let be, or that was thrown away with a block."""
        now = self._schedule.monotonic()
        if now < self._asked + ASK_AGAIN:
            return False
        self._asked = now
        self._feed(Waited())
        return True

    def _set_deadline(self, seconds: float) -> None:
        self._anchor = self._schedule.monotonic()
        self._state = replace(self._state, left=seconds)
