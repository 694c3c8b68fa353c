"""An input of a site's machine is one transaction, with all that follows from it.

What the machine remembers, what the participant computed, records, ledger, audit log and what is to
be sent, all or nothing; the inbox row that caused it goes with it. Nothing leaves before, nor
before the keystore knows that the store has gone on. So the process may end at any moment, and goes
on where it was: jobs that were under way run again, and nobody has seen their first results.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from securefair.collaboration.host import Host
from securefair.model.stored import to_bytes
from securefair.protocol.codec import Limits
from securefair.protocol.effects import (
    AskedAgain,
    Blame,
    Done,
    Effect,
    Failed,
    Input,
    RoundOver,
    Send,
    SetDeadline,
)
from securefair.protocol.jobs import AnswerAsk
from securefair.report.presence import PeerLife
from securefair.sites.post.peers import drop_unconfirmed
from securefair.sites.project.card import utc
from securefair.sites.site import records
from securefair.sites.site.attendance import Attendance
from securefair.sites.site.keeping import Keeper
from securefair.sites.site.letters import Letters, let_be, write
from securefair.sites.site.notes import end_round, end_site, note_answers, note_mistake
from securefair.sites.site.notices import Notice, notice_frame
from securefair.sites.site.renewing import Renewal
from securefair.sites.site.schedule import Deadline, Timetable
from securefair.sites.site.working import Aside
from securefair.storage import Item, Store, Transaction
from securefair.storage.generation import Generation


class Feeder:
    """Feeds the machine of one participant, and keeps what the site remembers besides it.

    Args:
        host, post, store, limits, schedule, aside, generation: as of `Site`.

    Attributes:
        state: what the site remembers besides its machine, but for the seconds that are left.
        deadline: of the round, or after the last one of the waiting.
    """

    def __init__(
        self,
        host: Host,
        post: Letters,
        store: Store,
        limits: Limits,
        schedule: Timetable,
        aside: Aside,
        generation: Generation,
    ) -> None:
        self._host, self._post, self._store, self._limits = host, post, store, limits
        self.schedule, self._aside, self._generation = schedule, aside, generation
        with store.view() as tx:
            state = records.state_in(tx)
            self._keeper = Keeper(tx, host, generation)
        self.state = replace(state, peers=state.peers.among(post.peers))
        self.deadline = Deadline(schedule.monotonic, state.left)
        self._sends = False  # in this transaction
        self._told = {peer: one.total for peer, one in host.machine.ledger.accounts.items()}

    def knows(self, peers: Attendance, **changes: object) -> None:
        """Remember this from the next transaction on."""
        self.state = replace(self.state, peers=peers, **changes)

    def feed(
        self,
        *events: Input,
        item: Item | None = None,
        blame: tuple[str, str] = ("", ""),
        notice: Notice | None = None,
        greet: tuple[str, ...] = (),
        renewal: Renewal | None = None,
    ) -> None:
        """One transaction; if it cannot be committed, this object is of no use any more.

        The machine is told first who came and went.

        Args:
            events: what else it is told, in this order.
            item: of the inbox, which is handled by this.
            blame: a peer, and why; "" for nothing.
            notice: for all peers.
            greet: peers that are told how far this site is.
            renewal: that is taken up.
        """
        machine, schedule = self._host.machine, self.schedule
        news = self.state.peers.news(machine.memory, schedule.needs, schedule.rounds)
        with self._store.transaction(self._generation.note) as tx:
            if item is not None:
                tx.inbox.done(item)
            if renewal is not None:
                renewal.taken_up(tx)
            if blame[1]:
                self._carry_out(tx, Blame(*blame))
            for event in (*news, *events):
                if isinstance(event, Failed):
                    self._aside(tx, event)
                self._note_answer(event)
                if let_be(self._post, tx, event, machine.settings):
                    continue
                effects = machine.handle(event)
                note_answers(tx, machine.ledger.accounts, self._told)  # before a round's row
                for effect in effects:
                    self._carry_out(tx, effect)
            if notice is not None:
                self._announce(tx, notice, self._post.peers)
            # Who was recovered, or blocked, does not know how far the others are.
            self._announce(tx, Notice(self.state.peers.announced), greet)
            self._save(tx)
        self._sends = False
        self._post.announce()

    def _note_answer(self, event: Input) -> None:
        """Peers hear only that there is no answer: why is for the own operator alone."""
        if isinstance(event, Done) and isinstance(event.job, AnswerAsk):
            self.state = replace(self.state, unanswered="")
        elif isinstance(event, Failed) and isinstance(event.job, AnswerAsk) and not event.culprit:
            self.state = replace(self.state, unanswered=event.error)

    def renew(self, renewal: Renewal) -> None:
        """Take other patients up after the last round, without a word to anybody."""
        with self._store.transaction(self._generation.note) as tx:
            renewal.taken_up(tx)
            self._keep_model(tx)
            records.measure_again(tx, self._host)
            self._save(tx)

    def close(self) -> None:
        """Write what was noted since the last round: one row, also where that is nothing.

        Another one is written only if something came in since, whatever it was.
        """
        if self.state.closed:
            return
        with self._store.transaction() as tx:
            end_site(tx, at=utc(self.schedule.wall()))
            self._save(tx, closed=True)

    def note_time(self) -> None:
        """So that a site which is stopped more often than a deadline passes comes to one."""
        self.deadline.set(self.deadline.left)
        self.state = replace(self.state, left=self.deadline.left)
        if self._store.lasts:
            with self._store.transaction() as tx:
                records.keep_state(tx, self.state)

    def _carry_out(self, tx: Transaction, effect: Effect) -> None:
        match effect:
            case Send(peer=peer) if peer not in self.state.peers.left:
                write(self._post, tx, effect, self._limits, self._host.machine.memory.round)
                self._sends = True
            case SetDeadline(seconds=seconds):
                self.deadline.set(seconds)
            case Blame() | AskedAgain():
                if isinstance(effect, Blame):
                    self._aside(tx, effect)
                note_mistake(tx, effect)
            case RoundOver():
                self._end_round(tx, effect)

    def _end_round(self, tx: Transaction, over: RoundOver) -> None:
        peers, schedule = self.state.peers, self.schedule
        heard = {peer: self._post.has_heard(tx, peer) for peer in self._post.peers}
        lives = {peer: peers.life(peer, heard=came) for peer, came in heard.items()}
        away = tuple(peer for peer, life in lives.items() if life is not PeerLife.HERE)
        self._keep_model(tx)
        records.keep_record(tx, records.record_of(over, self._host, away))
        at, opened = utc(schedule.wall()), len(over.summary.opened)
        end_round(tx, round=over.round, opened=opened, at=at)
        if over.round == schedule.rounds - 1:
            self.deadline.set(schedule.linger)
        self.knows(peers.ends(over.round, over.summary.overtaken), missing=(), since=0.0)
        self._announce(tx, Notice(over.round + 1), self._post.peers)

    def _announce(self, tx: Transaction, notice: Notice, peers: Collection[str]) -> None:
        self.knows(replace(self.state.peers, announced=notice.ready))
        for peer in peers:
            if peer in self.state.peers.left:
                drop_unconfirmed(tx, peer)
            else:
                self._post.send(tx, peer, notice_frame(notice), self._host.machine.memory.round)

    def _keep_model(self, tx: Transaction) -> None:
        tx.memory.put(records.MODEL, to_bytes(self._host.model()))

    def _save(self, tx: Transaction, *, closed: bool = False) -> None:
        left, began = self.deadline.left, self.state.began or self.schedule.wall()
        self.state = replace(self.state, left=left, closed=closed, began=began)
        self.deadline.set(left)
        if not self._store.lasts:
            return  # nobody goes on with it
        self._keeper.keep(tx, sends=self._sends)
        records.keep_state(tx, self.state)
