"""What a site warns of: peers that lie, and not those that chance makes look so; lost averages."""

import math

import msgspec
import numpy as np
import pytest

from securefair.collaboration.observer import SiteRecord
from securefair.model.plausibility import APART, IMPLAUSIBLE
from securefair.protocol.settings import SumSettings
from securefair.sites.rehearsal.rehearsal import hospitals, make_places, project_between
from securefair.sites.site.attendance import Attendance
from securefair.sites.site.folder import STORE, read_settings
from securefair.sites.site.health import health_of
from securefair.sites.site.notes import BLAME, note
from securefair.sites.site.records import (
    SiteState,
    keep_record,
    keep_state,
    neighbours_of,
    note_neighbours,
)
from securefair.sites.site.warnings import (
    BEYOND_CHANCE,
    DOUBTED_BY_CHANCE,
    beyond_chance,
    refused_messages,
)
from securefair.storage import Store
from support.site_statuses import RECORD

NOW = 1_800_000_000.0


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store") as store:
        yield store


def played(rounds, doubted, *, scored=False):
    """Rounds with an answer of the peer south each, of which the first ones were doubted.

    Doubted ones that are `scored` all the same are opened, and not failed.
    """
    for number in range(rounds):
        refused = ("south",) if number < doubted else ()
        failed = () if scored else refused
        changes = {"doubted": refused, "failed": failed, "opened": () if failed else ("south",)}
        yield msgspec.structs.replace(RECORD, round=number, **changes)


def said(store, records=(), blames=0):
    with store.transaction() as tx:
        for record in records:
            keep_record(tx, record)
        for number in range(blames):
            note(tx, BLAME, peer="south", reason=f"mistake {number}")
        return refused_messages(tx)["south"]


def test_one_refusal_by_a_test_of_340_answers_accuses_nobody(store):
    """It was told for the rest of a project as what no honest site says, and counted twice."""
    assert said(store, played(340, 1)) == ""


@pytest.mark.parametrize("scored", [False, True])
def test_more_than_chance_explains_is_told(store, scored):
    assert said(store, played(12, 2, scored=scored)) == (
        "2 of its 12 answers failed a statistical test, more than chance explains: ask its "
        "operator, and block it if that goes on"
    )


def test_what_no_honest_site_says_is_told_at_once_and_first(store):
    assert said(store, blames=1).startswith("1 of its messages was refused, which no honest site")
    assert said(store, played(9, 9), blames=1).startswith("2 of its messages were refused, which")


@pytest.mark.parametrize(("refused", "most"), [(1, 0), (2, 26), (3, 85), (4, 184)])
def test_chance_is_a_tail_of_poisson(refused, most):
    assert not beyond_chance(refused, most + 1)
    assert most == 0 or beyond_chance(refused, most)
    expected = (most + 1) * DOUBTED_BY_CHANCE
    fewer = sum(expected**k / math.factorial(k) for k in range(refused)) * math.exp(-expected)
    assert 1 - fewer >= BEYOND_CHANCE / max(1, refused * (refused - 1))


def test_no_more_honest_peers_are_ever_accused_than_stated():
    """It was looked at after every answer and held for one look: 0.49 % after 2,000 answers."""
    answers, most = 5000, 40
    levels, accused = np.zeros(most), 0.0  # by number of refusals, of peers that were never accused
    levels[0] = 1.0
    for number in range(1, answers + 1):
        refused = levels * DOUBTED_BY_CHANCE
        levels -= refused
        levels[1:] += refused[:-1]
        found = [beyond_chance(count, number) for count in range(most)]
        accused += levels[found].sum()
        levels[found] = 0.0
    assert 7e-4 < accused < BEYOND_CHANCE


def test_chance_is_what_the_test_of_plausibility_says():
    assert pytest.approx(APART + 2 * math.exp(IMPLAUSIBLE)) == DOUBTED_BY_CHANCE


def test_records_of_earlier_versions_doubt_nobody():
    known = msgspec.json.decode(msgspec.json.encode(RECORD))
    del known["doubted"]
    assert msgspec.convert(known, SiteRecord).doubted == ()


@pytest.mark.parametrize(("over", "told"), [(1, True), (3, False)])
def test_an_own_model_that_cannot_answer_is_told(tmp_path, over, told):
    data = hospitals(2)
    project, identities = project_between(data, "cycle", 3, "clear", now=NOW, days=100)
    make_places(tmp_path, data, project, identities, "local")
    folder = tmp_path / data[0].name
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        for record in played(over, 0):
            keep_record(tx, record)
        keep_state(tx, SiteState(unanswered="a weight is too large"))
        health = health_of(folder, tx, project, read_settings(folder), runs=True, now=NOW)
    assert ("the own model could not answer: a weight is too large" in health.warnings) == told


@pytest.mark.parametrize(
    ("peers", "over", "told"),
    [
        (Attendance(), 1, ""),
        (Attendance(away=("a",)), 1, ""),  # it may come back
        (Attendance(left=("a",)), 1, "a sum needs 2 neighbours, and 1 is left"),
        (Attendance(blocked=("a", "b")), 1, "a sum needs 2 neighbours, and 0 are left"),
        (Attendance(left=("a",)), 3, ""),  # its own rounds are over
    ],
    ids=["all", "away", "left", "blocked", "over"],
)
def test_that_no_sum_is_possible_any_more_is_told(tmp_path, peers, over, told):
    data = hospitals(3)
    project, identities = project_between(data, "cycle-gossip", 3, "clear", now=NOW, days=100)
    make_places(tmp_path, data, project, identities, "local")
    folder = tmp_path / data[0].name
    sums = SumSettings(name="c", senders={n: tuple("abc".replace(n, "")) for n in "abc"})
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        note_neighbours(tx, None)
        assert neighbours_of(tx) == ((), 0)
        note_neighbours(tx, sums)
        assert neighbours_of(tx) == (("a", "b"), 2)
        for record in played(over, 0):
            keep_record(tx, record)
        keep_state(tx, SiteState(peers=peers))
        settings = read_settings(folder)
        found = health_of(folder, tx, project, settings, runs=True, now=NOW).warnings
    assert len(found) == bool(told)
    assert told in "".join(found)
