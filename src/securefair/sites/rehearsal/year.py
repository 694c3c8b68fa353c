"""A year between hospitals in minutes: what `site start` opens, on a clock that nobody waits for.

Eight hospitals share a folder that is brought up to date every night. So a question takes a night,
and its answer the next. Real stores, keystores, envelopes and projects; only the clock is
simulated, and encryption is left out (`backend`): neither decides when anything happens.

    every week      one site is down for a day
    day 30          a clock is a day ahead, for a day
    day 45          one hospital leaves
    day 50          all are down for three days
    day 70          an upgrade: one site after the other, a day each; again from day 200 on
    day 100         a machine is replaced
    day 120         the project is over; one hospital joins: a new project
    day 150         one hospital loses its keys: the others block it
    day 240         a new project, with a new identity of that one
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from securefair.data import ParticipantData
from securefair.errors import SecureFairError
from securefair.sites.operator.lifecycle import say_farewell, upgrade
from securefair.sites.project.agreeing import fewest_peers, rounds_of
from securefair.sites.project.identity import Identity
from securefair.sites.project.project import Project
from securefair.sites.rehearsal.rehearsal import (
    hospitals,
    make_places,
    project_between,
    reputation_kind,
)
from securefair.sites.site.notes import told_in
from securefair.sites.site.records import SiteRecord, stored_records
from securefair.sites.site.recovery import block
from securefair.sites.site.starting import OpenSite, Rehearsal, open_site
from securefair.storage import Secret, unlock

DAY = 86_400.0
SITES, DAYS = 8, 365
WRONG_CLOCK, LEAVES, ALL_DOWN, REPLACED, KEY_LOST = 30, 45, range(50, 53), 100, 150
UPGRADES = (70, 200)
"""Days on which the first site is upgraded; the others follow, one a day."""
PROJECTS = (range(120), range(120, 240), range(240, DAYS))
ROUND_DAYS = 3.0
"""Deadline of a round: an answer that is a night late is in time, three days of silence are not."""


class YearResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a year went.

    Attributes:
        days: of the year.
        sites: at any time.
        outages: days of a site.
        rounds_possible: of all projects: in each of them enough hospitals were there, soon or late.
        rounds_finished: that enough hospitals ended, each with enough answers.
        spent_twice: answers that a teacher's ledger counts and no question of its student is for.
        actions: what operators did, day by day.
    """

    days: int
    sites: int
    outages: int
    rounds_possible: int
    rounds_finished: int
    spent_twice: int
    actions: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was lost and nothing was paid for twice."""
        return self.rounds_finished == self.rounds_possible and self.spent_twice == 0


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
    """

    place: Path
    project: Project
    clock: Clock
    ahead: dict[str, float] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    actions: list[str] = field(default_factory=list)
    outages: int = 0
    _running: dict[str, tuple[OpenSite, contextlib.ExitStack]] = field(default_factory=dict)

    def start(self, name: str) -> None:
        """`site start`, which the unit does after every outage."""
        stack = contextlib.ExitStack()
        rehearsal = Rehearsal(
            seed=0,
            wall=lambda: self.clock.began + self.clock.now + self.ahead.get(name, 0.0),
            monotonic=lambda: self.clock.now,
            durable=False,
        )
        opened = stack.enter_context(open_site(self.place / name, self.secret, rehearsal=rehearsal))
        self._running[name] = opened, stack

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

    def upgrade(self, name: str) -> None:
        """`site stop`, another version is installed, `site upgrade`; the night starts it again."""
        self.note(f"{name}: site stop, install, site upgrade, site start")
        if name in self._running:
            self.stop(name)
        upgrade(self.place / name)

    def replace_machine(self, name: str) -> None:
        """A site's whole folder goes to another machine, and is deleted on the old one."""
        self.note(f"{name}: site stop, move its folder and data, site start")
        if name in self._running:
            self.stop(name)
        here, there = self.place / name, self.place / f"{name} moved"
        shutil.copytree(here, there)
        shutil.rmtree(here)
        there.rename(here)

    def records(self, name: str) -> dict[int, SiteRecord]:
        """Of a site's rounds, by number; empty where it cannot be opened."""
        if name not in self._running:
            return {}
        with self._running[name][0].store.view() as tx:
            return {record.round: record for record in stored_records(tx)}

    def finished(self) -> int:
        """Rounds that enough sites ended, each with enough peers that answered or declined."""
        peers = len(self.project.names) - 1
        fewest = fewest_peers(self.project, peers)
        ended: dict[int, int] = {}
        for name in self.names:
            for number, record in self.records(name).items():
                there = peers - len({*record.missed, *record.away})
                ended[number] = ended.get(number, 0) + (there >= fewest)
        return sum(count >= fewest + 1 for count in ended.values())

    def spent_twice(self) -> int:
        """Answers that were charged, and that no question is for."""
        one = next(iter(self._running.values()))[0]
        numbers, sums = one.agreement.numbers_a_round, one.site.machine.settings.sums
        summed = sums is not None and not sums.averages  # those of models are counted apart
        twice = 0
        for student in self.names:
            records = self.records(student).values()
            for teacher in self.names:
                if teacher == student:
                    continue
                asked = sum(teacher in _answers_due(one, summed=summed) for one in records)
                with self._running[teacher][0].store.view() as tx:
                    told = told_in(tx)[student]
                twice += max(0, -(-told // numbers) - asked)
        return twice

    def _work(self) -> None:
        for opened, _ in self._running.values():
            while opened.site.turn():
                pass

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


def _answers_due(record: SiteRecord, *, summed: bool) -> tuple[str, ...]:
    """Teachers that may have answered in a round, and were asked once."""
    if summed:
        return (*record.combined, *record.lost)
    return (*record.opened, *record.missed, *record.failed)


def rehearse_year(
    folder: Path,
    *,
    algorithm: str | None = None,
    rounds: int = 24,
    backend: str = "clear",
    say: Callable[[str], None] = lambda _: None,
) -> YearResult:
    """Live through a year.

    Args:
        folder: empty; it holds the sites afterwards.
        algorithm: the kind of collaboration; None for one with reputations.
        rounds: of each of the three projects, where its kind takes so many.
        backend: encryption engine.
        say: hears of every day.

    Raises:
        SecureFairError: a site could not go on.
    """
    everyone = hospitals(SITES + 1)
    first, joins = everyone[:SITES], everyone[SITES]
    leaves, loses, wrong = first[-1].name, first[2].name, first[1].name
    clock, known = Clock(time.time()), dict[str, Identity]()
    possible = finished = twice = outages = 0
    actions: list[str] = []
    members: list[ParticipantData] = list(first)
    for number, days in enumerate(PROJECTS):
        if number == 1:
            members = [own for own in first if own.name != leaves] + [joins]
        if number == 2:
            known.pop(loses)
        project, identities = project_between(
            members,
            algorithm or reputation_kind(),
            rounds,
            backend,
            known=known,
            now=clock.began + clock.now,
            days=DAYS,
            round_seconds=ROUND_DAYS * DAY,
        )
        place = folder / str(number)
        place.mkdir()
        make_places(place, members, project, identities, "local")
        year = Year(place, project, clock, actions=actions)
        for name in year.names:
            new = "identity new, " if name not in known else ""
            year.note(f"{name}: {new}project sign, site init, site start")
        known = identities
        try:
            for day in days:
                year.ahead = {wrong: DAY} if day == WRONG_CLOCK else {}
                if day in (WRONG_CLOCK, WRONG_CLOCK + 1):
                    year.stop(wrong)  # it is started again, by another clock
                if day == LEAVES:
                    year.leave(leaves)
                if day == REPLACED:
                    year.replace_machine(wrong)
                if day == KEY_LOST:
                    year.lose_keys(loses)
                for begun in UPGRADES:
                    if day - begun in range(len(year.names)):
                        year.upgrade(year.names[day - begun])
                down = year.names if day in ALL_DOWN else ()
                if day % 7 == 3 and not down:
                    down = (year.names[day // 7 % len(year.names)],)
                year.night(down)
                say(f"day {day}: {max(len(year.records(name)) for name in year.names)} rounds")
            possible += rounds_of(project.terms)
            finished += year.finished()
            twice += year.spent_twice()
            outages += year.outages
        finally:
            year.close()
    return YearResult(
        days=DAYS,
        sites=SITES,
        outages=outages,
        rounds_possible=possible,
        rounds_finished=finished,
        spent_twice=twice,
        actions=tuple(actions),
    )
