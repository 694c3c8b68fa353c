"""Sites of one project on a clock that nobody waits for, and what operators do to them.

They share a folder that is brought up to date every night: a question takes a night, and its answer
the next. Real stores, keystores, envelopes and projects; only the clock is simulated.
"""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from securefair.collaboration.observer import SiteRecord
from securefair.data import ParticipantData
from securefair.errors import SecureFairError
from securefair.protocol.messages import DeclineReason
from securefair.protocol.states import RoundState
from securefair.sites.operator.lifecycle import say_farewell, upgrade
from securefair.sites.operator.renewing import renew_opened
from securefair.sites.project.agreeing import fewest_peers
from securefair.sites.project.project import Project
from securefair.sites.rehearsal.elsewhere import (
    ElsewhereSite,
    installed,
    make_store_with,
    memory_in,
)
from securefair.sites.rehearsal.lying import LyingSite
from securefair.sites.rehearsal.payments import Payments
from securefair.sites.rehearsal.playing import Playing, PlayingHere
from securefair.sites.rehearsal.upgraded import UpgradeMade, asked_in
from securefair.sites.site.recovery import block, recover
from securefair.sites.site.samples import write_samples
from securefair.sites.site.starting import OpenSite, Rehearsal, open_site
from securefair.sites.site.status import site_status
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
        elsewhere: interpreter of each site that runs another version.
        liars: sites that lie from their next start on.
        actions: what operators did so far.
        outages: nights of a site.
        payments: what ledgers counted.
    """

    place: Path
    project: Project
    clock: Clock
    ahead: dict[str, float] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    elsewhere: dict[str, Path] = field(default_factory=dict)
    liars: set[str] = field(default_factory=set)
    actions: list[str] = field(default_factory=list)
    outages: int = 0
    payments: Payments = field(default_factory=Payments)
    _running: dict[str, Playing] = field(default_factory=dict)

    def begin_elsewhere(self, names: Collection[str], python: Path) -> None:
        """Let new sites begin under another interpreter, which makes their stores too."""
        for name in names:
            make_store_with(python, self.place / name)
            self.elsewhere[name] = python

    def start(self, name: str) -> None:
        """`site start`, which the unit does after every outage."""
        if name in self.elsewhere:
            files = self.place / name, self.place / "passphrase"
            self._running[name] = ElsewhereSite(
                self.elsewhere[name], *files, lambda: self._clocks(name)
            )
            return
        with contextlib.ExitStack() as stack:
            opened = stack.enter_context(self._opened(name))
            self._running[name] = self._playing(name, opened, stack.pop_all())

    def _playing(self, name: str, opened: OpenSite, stack: contextlib.ExitStack) -> Playing:
        if name in self.liars:
            return LyingSite(opened, stack, lambda: self._clocks(name)[0])
        return PlayingHere(opened, stack)

    def _clocks(self, name: str) -> tuple[float, float]:
        return self.clock.began + self.clock.now + self.ahead.get(name, 0.0), self.clock.now

    def _opened(self, name: str) -> contextlib.AbstractContextManager[OpenSite]:
        rehearsal = Rehearsal(
            seed=0,
            wall=lambda: self._clocks(name)[0],
            monotonic=lambda: self._clocks(name)[1],
            durable=False,
        )
        return open_site(self.place / name, self.secret, rehearsal=rehearsal)

    def stop(self, name: str) -> None:
        """The process or machine ends, however it does."""
        self._running.pop(name).close()

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
        say_farewell(self.opened(name), self.clock.began + self.clock.now)
        self._carry()
        self.stop(name)
        self.gone.add(name)

    def lose_keys(self, name: str) -> None:
        """A keystore is gone: the others block whoever may have it."""
        self.stop(name)
        self.gone.add(name)
        for other in self.names:
            self._block(other, name)

    def lie(self, name: str) -> None:
        """A site lies from now on."""
        self.liars.add(name)
        if name in self._running:
            self.stop(name)

    def block_liar(self, name: str) -> None:
        """What each operator reads of a peer that lies is enough to block it.

        Raises:
            SecureFairError: the status of a site does not name it.
        """
        self.stop(name)
        self.gone.add(name)
        for other in self.names:
            said = self.said_of(other, name)
            if not said:
                raise SecureFairError("the status of a site names no liar", where=other, found=name)
            self._block(other, name)

    def said_of(self, name: str, peer: str) -> list[str]:
        """What `site status` of one site says is wrong with a peer, and was refused of it."""
        opened = self.opened(name)
        with opened.store.view() as tx:
            status = site_status(tx, opened.project, name)
        faults = [one.fault for one in status.peers if one.name == peer and one.fault]
        refused = [
            f"refused: {what}: {count}"
            for what, count in status.refused.items()
            if what.endswith(f", {peer}") and not what.startswith("repeated")
        ]
        return faults + refused

    def _block(self, name: str, peer: str) -> None:
        self.note(f"{name}: site block {peer}")
        if name in self._running:
            self.stop(name)
        block(self.place / name, peer, self.clock.began + self.clock.now)

    def opened(self, name: str) -> OpenSite:
        """A site that runs."""
        playing = self._running[name]
        assert isinstance(playing, PlayingHere)
        return playing.opened

    def in_a_round(self, name: str) -> bool:
        """Whether a site is in the midst of a round, as its store has it."""
        memory = memory_in(self.place / name)
        return memory is not None and memory.state is not RoundState.IDLE and bool(asked_in(memory))

    def upgrade(self, name: str) -> UpgradeMade:
        """A site of the release before: `site stop`, install, `site upgrade`, `site start`."""
        self.note(f"{name}: site stop, install, site upgrade, site start")
        if name in self._running:
            self.stop(name)
        there = installed(self.elsewhere.pop(name))
        upgrade(self.place / name)
        memory = memory_in(self.place / name)
        self.start(name)
        return UpgradeMade(
            site=name,
            day=round(self.clock.now / DAY),
            version=there.version,
            rounds=len(self.records(name)),
            open_round=None if memory is None or memory.state is RoundState.IDLE else memory.round,
            asked=() if memory is None else tuple(sorted(asked_in(memory))),
        )

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
        return {record.round: record for record in self._running[name].records()}

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
        for name, playing in self._running.items():
            before = playing.memory()
            while playing.turn():
                after = playing.memory()
                if before is not None and after is not None:
                    self.payments.see(name, before, after)
                before = after

    def _carry(self) -> None:
        """What lies in every outbox, to all who are up."""
        for name, playing in self._running.items():
            for peer in self.project.names:
                if peer == name or peer not in self._running:
                    continue
                there = self._running[peer]
                for lie in playing.lies(peer) if isinstance(playing, LyingSite) else ():
                    there.receive(lie)
                while (parcel := playing.pending(peer)) is not None:
                    if not playing.settle(peer, there.receive(parcel)):
                        break
            if playing.fault:
                raise SecureFairError(playing.fault, where=name)
