"""Sites of one project on a clock that nobody waits for.

They share a folder that is brought up to date every night: a question takes a night, and its answer
the next. Real stores, keystores, envelopes and projects; only the clock is simulated.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from securefair.collaboration.observer import SiteRecord
from securefair.errors import SecureFairError
from securefair.protocol.states import RoundState
from securefair.sites.project.project import Project
from securefair.sites.rehearsal.elsewhere import (
    ElsewhereSite,
    make_store_with,
    memory_in,
)
from securefair.sites.rehearsal.lying import LyingSite
from securefair.sites.rehearsal.payments import Payments
from securefair.sites.rehearsal.playing import Playing, PlayingHere
from securefair.sites.rehearsal.upgraded import asked_in
from securefair.sites.site.starting import OpenSite, Rehearsal, open_site
from securefair.sites.site.status import site_status
from securefair.storage import Secret, unlock

DAY = 86_400.0


@dataclass(eq=False)
class Clock:
    """Time that only `pass_by` moves; seconds since its start."""

    began: float
    now: float = 0.0

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass(eq=False)
class Nights:
    """The sites of one project, and the nights in which they work.

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

    def opened(self, name: str) -> OpenSite:
        """A site that runs."""
        playing = self._running[name]
        assert isinstance(playing, PlayingHere)
        return playing.opened

    def in_a_round(self, name: str) -> bool:
        """Whether a site is in the midst of a round, as its store has it."""
        memory = memory_in(self.place / name)
        return memory is not None and memory.state is not RoundState.IDLE and bool(asked_in(memory))

    def records(self, name: str) -> dict[int, SiteRecord]:
        """Of a site's rounds, by number; empty where it cannot be opened."""
        if name not in self._running:
            return {}
        return {record.round: record for record in self._running[name].records()}

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
