"""A year between hospitals in minutes: what `site start` opens, on a clock that nobody waits for.

Eight hospitals share a folder that is brought up to date every night. So a question takes a night,
and its answer the next. Real stores, keystores, envelopes and projects; only the clock is
simulated, and encryption is left out (`backend`): neither decides when anything happens. Nothing is
upgraded, as all sites are of one version: sites of two run together in `rehearse --beside`.

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
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from securefair.collaboration.kinds import kind_of
from securefair.data import ParticipantData, Samples
from securefair.sites.project.agreeing import rounds_of
from securefair.sites.project.identity import Identity
from securefair.sites.rehearsal.days import DAY, Clock, Year
from securefair.sites.rehearsal.rehearsal import (
    hospitals,
    make_places,
    project_between,
    reputation_kind,
)

DAYS = 365
ROUND_DAYS = 3.0
"""Deadline of a round: an answer that is a night late is in time, three days of silence are not."""
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


YEAR = Calendar()


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
        spent_twice: what teachers' ledgers counted again for the same student and round.
        actions: what operators did, day by day.
    """

    days: int
    sites: int
    outages: int
    rounds_possible: int
    rounds_finished: int
    rounds_declined: int
    spent_twice: int
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
    say: Callable[[str], None] = lambda _: None,
) -> YearResult:
    """Live through a year.

    Args:
        folder: empty; it holds the sites afterwards.
        algorithm: the kind of collaboration; None for one with reputations.
        rounds: most of each project, where its kind takes several and has the time.
        calendar: what happens when.
        backend: encryption engine.
        say: hears of every day.

    Raises:
        SecureFairError: a site could not go on.
    """
    algorithm = algorithm or reputation_kind()
    kind = kind_of(algorithm)
    everyone = hospitals(calendar.sites + 1)
    first, joins = everyone[: calendar.sites], everyone[calendar.sites]
    leaves, loses, wrong, backs_up = (first[at].name for at in (-1, 2, 1, 3))
    clock, known = Clock(time.time()), dict[str, Identity]()
    possible = finished = declined = twice = outages = 0
    actions: list[str] = []
    members: list[ParticipantData] = list(first)
    for number, days in enumerate(calendar.projects):
        if number == 1:
            members = [own for own in first if own.name != leaves] + [joins]
        if number == 2:
            known.pop(loses)
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
        )
        place = folder / str(number)
        place.mkdir()
        make_places(place, members, project, identities, "local")
        year = Year(place, project, clock, actions=actions)
        for name in year.names:
            new = "identity new, " if name not in known else ""
            data = " with other patients" if number == 2 and name == members[0].name else ""
            year.note(f"{name}: {new}project sign, site init{data}, site start")
        known = identities
        try:
            for day in days:
                year.ahead = {wrong: DAY} if day == calendar.wrong_clock else {}
                if day in (calendar.wrong_clock, calendar.wrong_clock + 1):
                    year.stop(wrong)  # it is started again, by another clock
                if day == calendar.renewed and not kind.validates:
                    first[0] = later_patients(first[0])
                    year.renew(first[0].name, first[0])
                if day == calendar.leaves:
                    year.leave(leaves)
                if day == calendar.replaced:
                    year.replace_machine(wrong)
                if day == calendar.key_lost:
                    year.lose_keys(loses)
                if day == calendar.backed_up:
                    year.back_up(backs_up)
                if day == calendar.put_back:
                    year.put_back(backs_up)
                down = year.names if day in calendar.all_down else ()
                if day % 7 == 3 and not down:
                    down = (year.names[day // 7 % len(year.names)],)
                year.night(down)
                say(f"day {day}: {max(len(year.records(name)) for name in year.names)} rounds")
            possible += rounds_of(project.terms)
            finished += year.finished()
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
        rounds_declined=declined,
        spent_twice=twice,
        actions=tuple(actions),
    )
