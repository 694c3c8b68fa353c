"""Outages and restarts burn no rounds, and keep no site from its deadlines."""

import pytest

from securefair.protocol.states import RoundState
from support.town import NOW

pytestmark = pytest.mark.slow  # whole rounds


def test_peers_that_are_away_already_count_when_others_fall_silent(make_town):
    """Two of four peers are away, a round needs two; then the other two go in the middle of it."""
    town = make_town(5, rounds=6, fewest=2)
    own, *others = town.names
    gone, later = others[-2:], others[:2]
    for name in gone:
        town.until(name, 2)
    for name in gone:
        town.stop(name)
    town.until(own, 4)
    assert set(town.sites[own].state.pace.away) == set(gone)
    for name in later:
        town.stop(name)
    began, before = town.now, len(town.records(own))
    while town.now < began + 200 * 50.0:
        if not town.sites[own].turn() and not town.walk(own):
            town.now += 50.0
    site = town.sites[own]
    assert len(town.records(own)) == before
    assert site.machine.memory.state is RoundState.EXCHANGING
    assert set(site.state.missing) == {*gone, *later}
    town.start(later[0])
    town.start(later[1])
    while len(town.records(own)) == before:
        for name in (own, *later):
            if not (town.sites[name].turn() | town.walk(name)):
                town.now += 1.0
    record = town.records(own)[-1]
    assert len({*record.opened, *record.declined}) >= 2


def test_a_site_that_is_started_anew_more_often_than_a_deadline_passes_comes_to_it(make_town):
    town = make_town(3, rounds=6, fewest=1)
    town.until("west", 2)
    town.stop("west")
    began = last = town.now
    while town.now < began + 40 * 50.0:
        moved = False
        for name in ("north", "south"):
            moved |= town.sites[name].turn()
            moved |= town.walk(name)
        if not moved:
            town.now += 5.0
        if town.now - last >= 40.0:  # of a deadline of 50
            last = town.now
            for name in ("north", "south"):
                town.kill(name)
    assert all(len(town.records(name)) == 6 for name in ("north", "south"))


def test_a_site_that_waits_after_its_last_round_says_so(make_town):
    """It said nothing for as long as the project lasted: too few were through with theirs."""
    town = make_town(3, algorithm="transfer", roles={"north": "teacher"}, fewest=1)
    town.until("north", 1)  # a teacher's only round ends before anybody could ask
    for name in ("south", "west"):
        town.stop(name)
    site, began = town.sites["north"], town.now
    while town.now < began + 10_000.0:
        if not (site.turn() | town.walk("north", lambda *_: None)):
            town.now += 50.0
    assert site.finished
    assert not site.over
    assert set(site.state.missing) == {"south", "west"}
    assert 0 < site.state.since < NOW + town.now
    for name in ("south", "west"):
        town.start(name)
    town.live()
    assert (site.state.missing, site.state.since) == ((), 0.0)
