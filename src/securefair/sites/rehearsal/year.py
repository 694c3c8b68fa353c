"""A year between hospitals in minutes: what `site start` opens, on a clock that nobody waits for.

Eight hospitals share a folder that is brought up to date every night. So a question takes a night,
and its answer the next. Real stores, keystores, envelopes and projects; only the clock is
simulated, and encryption is left out (`backend`): neither decides when anything happens. Where the
release before is there, two sites of the first project are processes of that until their upgrades.

    day 4, 16       a site is upgraded in the midst of a round, while the others go on; in a project
                    of one round on days 2 and 4
    every week      one site is down for a day
    day 20          one hospital has other patients, within the project, where its kind lets it
    day 30          a clock is a day ahead, for a day
    day 45          one hospital leaves
    day 50          all are down for three days
    day 100         a machine is replaced
    day 120         the project is over; one hospital joins: a new project
    day 150         one hospital loses its keys: the others block it
    day 165         a backup of five days ago is put back at one hospital, which recovers
    day 240         a new project, with a new identity of that one; one hospital has other patients
    day 258         two hospitals put backups of three days ago back, and recover
    day 270         one hospital lies for five days: then the others block it
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from securefair.collaboration.kinds import kind_of
from securefair.data import ParticipantData, Samples
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.sites.project.agreeing import rounds_of
from securefair.sites.project.identity import Identity
from securefair.sites.rehearsal.days import Year
from securefair.sites.rehearsal.elsewhere import Installation, installed
from securefair.sites.rehearsal.nights import DAY, Clock
from securefair.sites.rehearsal.rehearsal import (
    hospitals,
    make_places,
    project_between,
    reputation_kind,
)
from securefair.sites.rehearsal.upgraded import UpgradeMade

DAYS = 365
ROUND_DAYS = 4.0
"""Deadline of a round, which takes three nights: a night to spare, as the operator's guide advises.
"""
NIGHTS_A_SUM = 7
"""Of a round in which models are averaged: an alignment and its answer, offers, requests, parts, a
request for keys, keys. A project has as many rounds as it has time for."""


@dataclass(frozen=True, kw_only=True)
class Calendar:
    """What happens on which day, counted from 0.

    Attributes:
        sites: hospitals at any time, five at least.
        projects: days of each.
        renewed: one hospital has other patients.
        wrong_clock: a clock is a day ahead.
        leaves: one hospital leaves; the next project has another one in its place.
        all_down: nobody is there.
        replaced: a machine is replaced.
        key_lost: one hospital loses its keys.
        backed_up, put_back: a backup is made, and put back.
        upgraded: two sites are upgraded, each in the first round that is open then; `upgraded_soon`
            in a project of one round.
        together: two hospitals make backups, and put them back; None: never.
        lies: one hospital lies, and is blocked on the day after; empty: never.
    """

    sites: int = 8
    projects: tuple[range, ...] = (range(120), range(120, 240), range(240, DAYS))
    renewed: int = 20
    wrong_clock: int = 30
    leaves: int = 45
    all_down: range = range(50, 53)
    replaced: int = 100
    key_lost: int = 150
    backed_up: int = 160
    put_back: int = 165
    upgraded: tuple[int, int] = (4, 16)
    upgraded_soon: tuple[int, int] = (2, 4)
    together: tuple[int, int] | None = (255, 258)
    lies: range = range(270, 275)


YEAR = Calendar()


@dataclass(frozen=True)
class Cast:
    """Whom it happens to: names of hospitals.

    Attributes:
        leaves, loses: the project, and its keys.
        wrong: has a wrong clock, and gets another machine.
        backs_up: puts a backup back, alone and with another one.
        together: that other one.
        lies: has joined, and lies later.
    """

    leaves: str
    loses: str
    wrong: str
    backs_up: str
    together: str
    lies: str


class YearResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a year went.

    Attributes:
        days: of the year.
        sites: at any time.
        outages: days of a site.
        rounds_possible: of all projects: in each of them enough hospitals were there, soon or late.
        rounds_finished: that enough hospitals ended, each with word of enough peers: answers,
            models, or the decision to share none.
        rounds_declined: of these, in which too many of a hospital's peers decided so.
        rounds_missed: of single sites that stayed to the end of a project: rounds that one skipped
            as over, as after a backup, or ended with word of too few peers.
        spent_twice: what teachers' ledgers counted again for the same student and round.
        upgrades: what they met, in this order.
        not_upgraded: why there were none; "" where there were.
        actions: what operators did, day by day.
    """

    days: int
    sites: int
    outages: int
    rounds_possible: int
    rounds_finished: int
    rounds_missed: int = 0
    rounds_declined: int
    spent_twice: int
    upgrades: tuple[UpgradeMade, ...] = ()
    not_upgraded: str = ""
    actions: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was lost and nothing was paid for twice."""
        return self.rounds_finished == self.rounds_possible and self.spent_twice == 0


def later_patients(own: ParticipantData) -> ParticipantData:
    """A hospital whose patients are others than before: a third of them is gone."""
    rows = np.arange(len(own.train)) % 3 != 0
    train = Samples(own.train.features[rows], own.train.labels[rows], own.train.classes)
    return ParticipantData(own.name, train, own.test)


def rehearse_year(
    folder: Path,
    *,
    algorithm: str | None = None,
    rounds: int = 24,
    calendar: Calendar = YEAR,
    backend: str = "clear",
    beside: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> YearResult:
    """Live through a year.

    Args:
        folder: empty; it holds the sites afterwards.
        algorithm: the kind of collaboration; None for one with reputations.
        rounds: most of each project, where its kind takes several and has the time.
        calendar: what happens when.
        backend: encryption engine.
        beside: interpreter with the release before; None: there is none.
        say: hears of every day.

    Raises:
        SecureFairError: a site could not go on.
    """
    algorithm = algorithm or reputation_kind()
    kind = kind_of(algorithm)
    everyone = hospitals(calendar.sites + 1)
    first, joins = everyone[: calendar.sites], everyone[calendar.sites]
    cast = Cast(
        leaves=first[-1].name,
        loses=first[2].name,
        wrong=first[1].name,
        backs_up=first[3].name,
        together=first[0].name,
        lies=joins.name,
    )
    before, not_upgraded = _release_before(beside, algorithm)
    upgrades, due = list[UpgradeMade](), calendar.upgraded
    clock, known = Clock(time.time()), dict[str, Identity]()
    possible = finished = missed = declined = twice = outages = 0
    actions: list[str] = []
    members: list[ParticipantData] = list(first)
    for number, days in enumerate(calendar.projects):
        if number == 1:
            members = [own for own in first if own.name != cast.leaves] + [joins]
        if number == 2:
            known.pop(cast.loses)
            members = [later_patients(members[0]), *members[1:]]
        project, identities = project_between(
            members,
            algorithm,
            min(rounds, len(days) // NIGHTS_A_SUM) if kind.wording.averages else rounds,
            backend,
            known=known,
            now=clock.began + clock.now,
            days=DAYS,
            round_seconds=ROUND_DAYS * DAY,
            protocol=PROTOCOL_VERSION if number or before is None else before.protocol,
        )
        place = folder / str(number)
        place.mkdir()
        make_places(place, members, project, identities, "local")
        year = Year(place, project, clock, actions=actions)
        if number == 0 and before is not None and beside is not None:
            if rounds_of(project.terms) == 1:
                due = calendar.upgraded_soon
            year.begin_elsewhere((cast.loses, cast.backs_up), beside)
        for name in year.names:
            new = "identity new, " if name not in known else ""
            data = " with other patients" if number == 2 and name == members[0].name else ""
            year.note(f"{name}: {new}project sign, site init{data}, site start")
        known = identities
        try:
            for day in days:
                upgrades += _upgraded(year, due, day, cast.loses, cast.backs_up)
                if day == calendar.renewed and kind.learns:
                    first[0] = later_patients(first[0])
                    year.renew(first[0].name, first[0])
                _happen(year, calendar, day, cast)
                down = year.names if day in calendar.all_down else ()
                if day % 7 == 3 and not down:
                    down = (year.names[day // 7 % len(year.names)],)
                year.night(down)
                say(f"day {day}: {max(len(year.records(name)) for name in year.names)} rounds")
            possible += rounds_of(project.terms)
            finished += year.finished()
            missed += year.missed()
            declined += year.finished() - year.answered()
            twice += year.spent_twice()
            outages += year.outages
        finally:
            year.close()
    return YearResult(
        days=calendar.projects[-1].stop,
        sites=calendar.sites,
        outages=outages,
        rounds_possible=possible,
        rounds_finished=finished,
        rounds_missed=missed,
        rounds_declined=declined,
        spent_twice=twice,
        upgrades=tuple(upgrades),
        not_upgraded=not_upgraded,
        actions=tuple(actions),
    )


def _upgraded(year: Year, days: tuple[int, int], day: int, *names: str) -> Iterator[UpgradeMade]:
    """Who is due, and in the midst of a round; after a week it is upgraded in any case."""
    for name, since in zip(names, days, strict=True):
        if name in year.elsewhere and day >= since and (year.in_a_round(name) or day > since + 7):
            yield year.upgrade(name)


def _happen(year: Year, calendar: Calendar, day: int, cast: Cast) -> None:
    """All else that is special about a day."""
    year.ahead = {cast.wrong: DAY} if day == calendar.wrong_clock else {}
    if day in (calendar.wrong_clock, calendar.wrong_clock + 1):
        year.stop(cast.wrong)  # it is started again, by another clock
    if day == calendar.leaves:
        year.leave(cast.leaves)
    if day == calendar.replaced:
        year.replace_machine(cast.wrong)
    if day == calendar.key_lost:
        year.lose_keys(cast.loses)
    _put_backups_back(year, (calendar.backed_up, calendar.put_back), day, cast.backs_up)
    if calendar.together is not None:
        _put_backups_back(year, calendar.together, day, cast.backs_up, cast.together)
    if calendar.lies and day == calendar.lies.start:
        year.lie(cast.lies)
    if calendar.lies and day == calendar.lies.stop:
        year.block_liar(cast.lies)


def _put_backups_back(year: Year, days: tuple[int, int], day: int, *names: str) -> None:
    for name in names:
        if day == days[0]:
            year.back_up(name)
        if day == days[1]:
            year.put_back(name)


def _release_before(beside: Path | None, algorithm: str) -> tuple[Installation | None, str]:
    """The release before, or why there is none for this year."""
    if beside is None:
        return None, "no release before this one is set up (`make previous`, or --beside)"
    there = installed(beside)
    if algorithm not in there.kinds:
        return None, f"{there.version} does not have {algorithm}"
    return there, ""
