"""Days of a few hospitals on a simulated clock."""

import contextlib
import re
import shutil
from functools import partial

import msgspec
import pytest

from securefair.collaboration.observer import SiteRecord
from securefair.protocol.messages import DeclineReason
from securefair.protocol.states import AskingState
from securefair.sites.project.agreeing import rounds_of
from securefair.sites.rehearsal import year as of_a_year
from securefair.sites.rehearsal.ended import DECISIONS, word_of
from securefair.sites.rehearsal.nights import DAY
from securefair.sites.rehearsal.year import (
    ROUND_DAYS,
    Calendar,
    later_patients,
    rehearse_year,
)
from securefair.sites.site.folder import KEYS, STUDENT_KEYS
from securefair.sites.site.notes import noted_in
from securefair.sites.site.renewing import taken_in
from securefair.storage import Keystore
from support.years import MANY, small_hospitals, small_year

RECORD = SiteRecord(
    round=1,
    forced=False,
    asked=(),
    opened=(),
    declined={},
    failed=(),
    missed=(),
    offered=(),
    combined=(),
    lost=(),
    received={},
    reputations={},
    away=(),
    measured={},
    temperature=None,
    step_error=None,
)

WEEKS = Calendar(
    sites=5,
    projects=(range(33), range(33, 61)),
    renewed=3,
    wrong_clock=6,
    leaves=9,
    all_down=range(12, 22),
    replaced=26,
    key_lost=36,
    backed_up=40,
    put_back=43,
    together=None,
    lies=range(0),
)


@pytest.mark.slow  # whole rounds of five sites
def test_weeks_of_a_year_lose_no_round_and_spend_nothing_twice(tmp_path, monkeypatch):
    """All that a year brings; all are down for ten days, three times a round's deadline."""
    monkeypatch.setattr(of_a_year, "hospitals", partial(small_hospitals, first=MANY))
    found = rehearse_year(tmp_path, rounds=4, calendar=WEEKS)
    assert (found.days, found.sites) == (61, 5)
    assert (found.rounds_possible, found.rounds_finished, found.spent_twice) == (8, 8, 0)
    done = "renew|leave|move|block|put a backup back|identity new, project sign"
    told = [re.search(done, action.partition(": ")[2]) for action in found.actions]
    assert {one[0] for one in told if one} == set(done.split("|"))


def test_who_was_never_judged_is_not_there_by_decision():
    """Who has a reputation and was not asked is left out for what it is worth; others are lost."""
    record = msgspec.structs.replace(
        RECORD,
        reputations={"judged": 0.2, "unknown": None, "gone": 0.4, "asked": None, "again": 0.3},
        asked=("asked", "again"),
        missed=("gone",),
        declined={"asked": DECISIONS[0], "again": DeclineReason.STALE.value},
    )
    assert word_of(record) == {"judged", "asked"}


@pytest.mark.slow  # whole rounds of five sites
def test_who_dies_after_its_part_of_a_sum_costs_nobody_that_sum(tmp_path):
    """Its key never comes: after a deadline the others open its part together."""
    data = small_hospitals(5)
    year = small_year(tmp_path, data, "transfer", 1, round_days=ROUND_DAYS)
    dies, *others = year.names
    with contextlib.closing(year):
        year.night()
        while not all(_state_of(year, name, dies) is AskingState.REVEALING for name in others):
            year.night()
            assert year.clock.now < 9 * DAY
        year.stop(dies)  # it has not heard yet that its key is asked for
        year.gone.add(dies)
        for _ in range(12):
            year.night()
        for name in others:
            (record,) = year.records(name).values()
            assert set(record.combined) == set(year.project.names) - {name}
            assert not record.lost
            accounts = year.opened(name).host.machine.ledger.accounts
            numbers = year.opened(name).agreement.numbers_a_round
            assert {one.total for one in accounts.values()} == {numbers}


def _state_of(year, name, peer):
    current = year.opened(name).site.machine.memory.averaging.sum
    return None if current is None else current.teachers[peer].state


@pytest.mark.slow  # whole rounds of four sites
@pytest.mark.parametrize("algorithm", ["cycle", "vpdl", "cycle-gossip", "transfer"])
def test_patients_are_renewed_in_a_running_project(tmp_path, algorithm):
    """The rounds go on, everybody counts on, and the model is of the new patients."""
    data = small_hospitals(4, first=MANY)
    year = small_year(tmp_path, data, algorithm, 4, round_days=ROUND_DAYS)
    renews = data[0]
    later = later_patients(renews)
    with contextlib.closing(year):
        for _ in range(3):
            year.night()
        before = told_by(year, renews.name)
        year.renew(renews.name, later)
        for _ in range(40):
            year.night()
        rounds = len(year.records(renews.name))
        assert rounds == rounds_of(year.project.terms)
        assert year.finished() == rounds
        assert year.spent_twice() == 0
        opened = year.opened(renews.name)
        assert len(opened.own.train) == len(later.train)
        with opened.store.view() as tx:
            assert taken_in(tx).number == 1
            notes = [event for event, _ in noted_in(tx)]
        assert notes.count("renewed") == 1
        after = told_by(year, renews.name)
        assert all(after[peer] >= before[peer] for peer in before)
        accuracy = year.records(renews.name)[rounds - 1].measured["accuracy"]
        year.stop(renews.name)
        year.start(renews.name)  # goes on with the later patients
        again = year.opened(renews.name)
        assert len(again.own.train) == len(later.train)
        assert again.host.measured(rounds - 1)["accuracy"] == pytest.approx(accuracy)
        assert again.host.model().logits(later.test.features) == pytest.approx(
            opened.host.model().logits(later.test.features)
        )


def told_by(year, name):
    return {peer: one.total for peer, one in year.opened(name).host.machine.ledger.accounts.items()}


@pytest.mark.slow  # real encryption, and a restart a turn
@pytest.mark.parametrize("committed", [True, False])
def test_a_site_may_be_killed_at_every_turn_of_a_renewal(tmp_path, committed):
    """After each commit, or before each: then keys of the turn are in the keystore already."""
    data = small_hospitals(2, first=MANY)
    year = small_year(tmp_path, data, "vpdl", 3, "rns", round_days=ROUND_DAYS)
    name, peer = year.names
    later = later_patients(data[0])

    def turn_and_die():
        """Whether there was anything to do."""
        place, before = tmp_path / name, tmp_path / "before"
        if not committed:
            shutil.copytree(place, before)
        moved = year.opened(name).site.turn()
        year.stop(name)
        if not committed:
            with contextlib.closing(Keystore.open(place / KEYS, year.secret)) as keys:
                made = keys.get(STUDENT_KEYS)
            shutil.rmtree(place)
            before.rename(place)
            with contextlib.closing(Keystore.open(place / KEYS, year.secret)) as keys:
                keys.put(STUDENT_KEYS, made, replace=True)
        year.start(name)
        if not committed and moved:
            assert year.opened(name).site.turn()
        return moved

    def work():
        moved = True
        while moved:
            moved = year.opened(peer).site.turn() | turn_and_die()

    with contextlib.closing(year):
        while not year.records(name):
            year.night()
        year.renew(name, later)
        year._work = work
        for _ in range(20):
            year.night()
            if all(len(year.records(site)) == 3 for site in year.names):
                break
        year.night()  # nothing comes after the end
        for site, other in ((name, peer), (peer, name)):
            records = year.records(site)
            assert [one.opened for one in records.values()] == [(other,)] * 3
            with year.opened(site).store.view() as tx:
                assert not [fact for event, fact in noted_in(tx) if event == "blame"]
        assert len(year.opened(name).own.train) == len(later.train)


@pytest.mark.slow  # whole rounds of four sites
@pytest.mark.parametrize(("backed_up", "put_back"), [(3, 5), (7, 11)], ids=["sum", "next round"])
def test_a_site_that_was_put_back_finds_the_others_again(tmp_path, backed_up, put_back):
    """Nobody offers or answers again what it forgot: it hears so, and keeps nobody waiting."""
    data = small_hospitals(4)
    year = small_year(tmp_path, data, "cycle-gossip", 8, round_days=ROUND_DAYS)
    name, *others = year.names
    with contextlib.closing(year):
        for day in range(put_back + 12):
            if day == backed_up:
                year.back_up(name)
            if day == put_back:
                year.put_back(name)
            year.night()
        rounds = {one: year.opened(one).site.machine.memory.round for one in year.names}
        assert rounds[name] >= min(rounds[other] for other in others)
        assert year.spent_twice() == 0
