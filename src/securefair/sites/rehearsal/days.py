"""Sites of one project on a clock that nobody waits for, and what operators do to them.

They share a folder that is brought up to date every night: a question takes a night, and its answer
the next. Real stores, keystores, envelopes and projects; only the clock is simulated.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from securefair.collaboration.observer import SiteRecord
from securefair.data import ParticipantData
from securefair.errors import SecureFairError
from securefair.protocol.messages import DeclineReason
from securefair.sites.operator.lifecycle import say_farewell
from securefair.sites.operator.renewing import renew_opened
from securefair.sites.project.agreeing import fewest_peers
from securefair.sites.project.project import Project
from securefair.sites.rehearsal.payments import Payments
from securefair.sites.site.records import stored_records
from securefair.sites.site.recovery import block, recover
from securefair.sites.site.samples import write_samples
from securefair.sites.site.starting import OpenSite, Rehearsal, open_site
from securefair.storage import Secret, unlock

DAY = 86_400.0
DECISIONS = (DeclineReason.NOT_SHARING.value, DeclineReason.DISCLOSURE_LIMIT.value)
"""Reasons to decline that are no fault and no loss."""


@dataclass(eq=False)
class Clock:
    """Time that only `pass_by` moves; seconds since its start."""

    began: float
    now: float = 0.0

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass(eq=False)
class Year:
    """The sites of one project, and whoever runs them.

    Attributes:
        place: of the sites' folders.
        project: of all.
        clock: of all machines.
        ahead: seconds by which a machine's clock is wrong, by site.
        gone: sites that left, or cannot open their keystore any more.
        actions: what operators did so far.
        outages: nights of a site.
        payments: what ledgers counted.
    """

    place: Path
    project: Project
    clock: Clock
    ahead: dict[str, float] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    actions: list[str] = field(default_factory=list)
    outages: int = 0
    payments: Payments = field(default_factory=Payments)
    _running: dict[str, tuple[OpenSite, contextlib.ExitStack]] = field(default_factory=dict)

    def start(self, name: str) -> None:
        """`site start`, which the unit does after every outage."""
        stack = contextlib.ExitStack()
        self._running[name] = stack.enter_context(self._opened(name)), stack

    def _opened(self, name: str) -> contextlib.AbstractContextManager[OpenSite]:
        rehearsal = Rehearsal(
            seed=0,
            wall=lambda: self.clock.began + self.clock.now + self.ahead.get(name, 0.0),
            monotonic=lambda: self.clock.now,
            durable=False,
        )
        return open_site(self.place / name, self.secret, rehearsal=rehearsal)

    def stop(self, name: str) -> None:
        """The process or machine ends, however it does."""
        self._running.pop(name)[1].close()

    def close(self) -> None:
        """Stop all."""
        for name in list(self._running):
            self.stop(name)

    @property
    def secret(self) -> Secret:
        """Passphrase of all keystores."""
        return unlock(file=self.place / "passphrase")

    @property
    def names(self) -> tuple[str, ...]:
        """Sites that may run."""
        return tuple(name for name in self.project.names if name not in self.gone)

    def note(self, action: str) -> None:
        """An operator did something."""
        self.actions.append(f"day {self.clock.now / DAY:.0f}: {action}")

    def night(self, down: Sequence[str] = ()) -> None:
        """A day passes, and the share is brought up to date for all who are up."""
        for name in self.names:
            if name in down and name in self._running:
                self.stop(name)
                self.outages += 1
            elif name not in down and name not in self._running:
                self.start(name)
        self._work()
        self._carry()
        self.clock.pass_by(DAY)
        self._work()

    def leave(self, name: str) -> None:
        """`site leave`."""
        self.note(f"{name}: site leave")
        say_farewell(self._running[name][0], self.clock.began + self.clock.now)
        self._carry()
        self.stop(name)
        self.gone.add(name)

    def lose_keys(self, name: str) -> None:
        """A keystore is gone: the others block whoever may have it."""
        self.stop(name)
        self.gone.add(name)
        for other in self.names:
            self.note(f"{other}: site block {name}")
            self.stop(other)
            block(self.place / other, name, self.clock.began + self.clock.now)

    def opened(self, name: str) -> OpenSite:
        """A site that runs."""
        return self._running[name][0]

    def replace_machine(self, name: str) -> None:
        """A site's whole folder goes to another machine, and is deleted on the old one."""
        self.note(f"{name}: site stop, move its folder and data, site start")
        if name in self._running:
            self.stop(name)
        here, there = self.place / name, self.place / f"{name} moved"
        shutil.copytree(here, there)
        shutil.rmtree(here)
        there.rename(here)

    def renew(self, name: str, own: ParticipantData) -> None:
        """`site renew`: other patients, from the next round or once the last is over."""
        self.note(f"{name}: site stop, site renew, site start")
        if name in self._running:
            self.stop(name)
        files = write_samples(self.place, own, f"{name} {self.clock.now / DAY:.0f}")
        with self._opened(name) as opened:
            renew_opened(opened, self.place / name, files)

    def back_up(self, name: str) -> None:
        """A stopped site's whole folder is copied."""
        if name in self._running:
            self.stop(name)
        shutil.copytree(self.place / name, self.place / f"{name} backup")

    def put_back(self, name: str) -> None:
        """The copy takes the folder's place; `site recover` before the site is started again."""
        self.note(f"{name}: put a backup back, site recover, site start")
        if name in self._running:
            self.stop(name)
        shutil.rmtree(self.place / name)
        (self.place / f"{name} backup").rename(self.place / name)
        recover(self.place / name, self.secret, self.clock.began + self.clock.now)
        self.start(name)

    def records(self, name: str) -> dict[int, SiteRecord]:
        """Of a site's rounds, by number; empty where it cannot be opened."""
        if name not in self._running:
            return {}
        with self._running[name][0].store.view() as tx:
            return {record.round: record for record in stored_records(tx)}

    def answered(self) -> int:
        """Rounds that enough sites ended, each with answers or models of enough peers."""
        return self._rounds_with(lambda record: {*record.opened, *record.combined})

    def finished(self) -> int:
        """Rounds that enough sites ended, each with word of enough peers: also of those that
        declined, or were not asked, because of what they are worth to each other."""
        return self._rounds_with(self._there)

    def _rounds_with(self, counted: Callable[[SiteRecord], set[str]]) -> int:
        fewest = fewest_peers(self.project, len(self.project.names) - 1)
        ended = Counter[int]()
        for name in self.names:
            for number, record in self.records(name).items():
                ended[number] += len(counted(record)) >= fewest
        return sum(count >= fewest + 1 for count in ended.values())

    def _there(self, record: SiteRecord) -> set[str]:
        """Peers whose answers are here, or kept back by decision and by nothing else.

        Who is not asked was judged before: without a reputation nobody has decided anything.
        """
        lost = {*record.missed, *record.failed, *record.lost, *record.away}
        said = {**record.declined, **record.sum_declined}
        lost |= {peer for peer, reason in said.items() if reason not in DECISIONS}
        judged = {peer for peer, worth in record.reputations.items() if worth is not None}
        return ({*judged, *said} - lost) | {*record.opened, *record.combined}

    def spent_twice(self) -> int:
        """What ledgers counted again for the same peer and round."""
        return self.payments.twice

    def _work(self) -> None:
        for name, (opened, _) in self._running.items():
            machine = opened.site.machine
            before = machine.memory
            while opened.site.turn():
                self.payments.see(name, before, machine.memory)
                before = machine.memory

    def _carry(self) -> None:
        """What lies in every outbox, to all who are up."""
        for name, (opened, _) in self._running.items():
            for peer in opened.post.peers:
                if peer not in self._running:
                    continue
                there = self._running[peer][0].post
                while (parcel := opened.post.pending(peer, 0.0)) is not None:
                    if not opened.post.settle(peer, there.receive(parcel)):
                        break
            if opened.post.fault is not None:
                raise SecureFairError(str(opened.post.fault), where=name)
