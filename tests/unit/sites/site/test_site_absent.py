"""Peers that are gone, come back, leave or are slow, and receipts that never come."""

import itertools
from dataclasses import replace

import pytest

from securefair.protocol.effects import RoundOver
from securefair.sites.post.peers import read_peer
from securefair.sites.site.notices import Notice, notice_frame
from securefair.sites.site.schedule import Deadline
from support.town import NOW, noted

pytestmark = pytest.mark.slow


def test_a_site_that_is_gone_for_good_costs_one_deadline(make_town):
    town = make_town(3, rounds=6)
    town.pause = 10.0
    town.until("west", 2)
    town.stop("west")
    before = town.now
    town.live()
    for name in ("north", "south"):
        records = town.records(name)
        assert [record.round for record in records] == list(range(6))
        assert "west" in records[-1].away
        assert records[3].opened == (("south",) if name == "north" else ("north",))  # forced
    assert town.now - before < 4 * 50.0 + 600.0 + 100


def test_an_outage_burns_no_rounds(make_town):
    """Nobody reaches anybody for a hundred deadlines, in the middle of a round."""
    town = make_town(3, rounds=4, fewest=1)
    dark = False

    def courier(peer, parcel):
        return None if dark else town.deliver(peer, parcel)

    town.until("west", 1, courier)
    dark, began = True, town.now
    while town.now < began + 100 * 50.0:
        moved = False
        for name in town.names:
            moved |= town.sites[name].turn()
            moved |= town.walk(name, courier)
        if not moved:
            town.now += 50.0
    assert max(len(town.records(name)) for name in town.names) <= 2
    for name in town.names:
        state = town.sites[name].state
        assert len(state.missing) == 2
        assert began < state.since - NOW < began + 200.0
    dark = False
    town.live(courier)
    for name in town.names:
        assert town.sites[name].state.since == 0.0
        records = town.records(name)
        assert [record.round for record in records] == list(range(4))
        assert all(len(record.opened) + len(record.declined) > 0 for record in records[:1])
        assert records[3].missed == ()


def test_a_teacher_that_is_gone_for_an_outage_costs_no_sum_of_the_others(make_town):
    """It dies when all answers are there and its key is not."""
    town = make_town(4, algorithm="transfer", fewest=2)
    town.until_asked_for_keys("north", "west")
    town.stop("west")
    town.now += 3600.0
    for _ in range(100):
        for name in list(town.sites):
            town.sites[name].turn()
            town.walk(name)
    town.start("west")
    town.live()
    assert set(town.records("north")[0].combined) == {"south", "west", "east"}


def test_nobody_waits_for_a_quorum_when_the_project_is_over(make_town):
    town = make_town(2, rounds=3, fewest=1)
    town.pause = 50.0
    town.until("south", 1)
    town.stop("south")
    feeder = town.sites["north"]._feeder
    feeder.schedule = replace(feeder.schedule, ends=NOW + town.now + 5000.0)
    town.live()
    assert town.now > 5000.0
    assert [record.round for record in town.records("north")] == list(range(3))


def test_a_site_that_comes_back_takes_part_again(make_town):
    town = make_town(3, rounds=9)
    town.pause = 10.0
    town.until("west", 1)
    town.stop("west")
    town.until("north", 4)
    town.start("west")
    town.live()
    north, west = town.records("north"), town.records("west")
    assert north[-1].away == ()
    assert "west" in north[6].opened  # a forced round after its return
    assert len(west) < 9
    assert west[-1].round == 8
    assert all(kind != "blame" for name in town.names for kind, _ in town.audited(name))


@pytest.mark.parametrize("algorithm", ["cycle", "cycle-gossip"])
def test_who_says_that_it_leaves_is_not_waited_for_and_not_written_to(make_town, algorithm):
    town = make_town(3, algorithm=algorithm, rounds=5)
    town.until("west", 2)
    with town.stores["west"].transaction() as tx:
        for peer in ("north", "south"):
            town.posts["west"].send(tx, peer, notice_frame(Notice(2, leaves=True)), 1)
    town.posts["west"].announce()

    def courier(peer, parcel):
        return None if peer == "west" else town.deliver(peer, parcel)

    while not all(town.sites[name].state.peers.left for name in ("north", "south")):
        town.walk("west")
        for name in ("north", "south"):
            town.sites[name].turn()
            town.walk(name, courier)
    town.stop("west")
    made, _ = written_to_west(town)
    before = town.now
    town.live()
    assert [record.round for record in town.records("north")] == list(range(5))
    assert "west" in town.records("north")[-1].away
    assert town.now - before < 600.0  # only the last wait for whoever might still ask
    assert written_to_west(town) == (made, (0, 0))


def written_to_west(town):
    """Bytes of envelopes that each site has made for west, and those that lie in its outbox."""
    found = []
    for store in town.stores.values():
        with store.view() as tx:
            waiting = len(list(tx.outbox.pending("west 0")))
            found.append((read_peer(tx, "west").bytes_out, waiting))
    return tuple(zip(*found, strict=True))


def test_six_sites_one_gone_one_slow_and_no_network_for_six_minutes(make_town):
    """At the courier: the last is killed for good, the slow one is reached every twentieth time."""
    town = make_town(6, rounds=6, round_seconds=600.0)
    town.pause = 5.0
    gone, slow = town.names[-1], town.names[-2]
    attempts, carried, dark = 0, 0, None

    def courier(peer, parcel):
        nonlocal attempts, carried, dark
        if dark is None and town.sites["north"].machine.memory.round == 4:  # four are over
            dark = town.now + 360.0
        if dark is not None and town.now < dark:
            return None
        if peer == slow:
            attempts += 1
            if attempts % 20:
                return None
        carried += len(parcel)
        return town.deliver(peer, parcel)

    town.until(gone, 2, courier)
    uploaded = carried
    town.stop(gone)
    town.live(courier, turns=2_000_000)
    for name in town.names[:-1]:
        records = town.records(name)
        assert [record.round for record in records] == list(range(6))
        assert gone in records[-1].away
        assert slow not in records[-1].away
    assert dark is not None
    assert (carried - uploaded) / (5 * 6) < 5e6


def test_a_receipt_that_never_comes_is_not_waited_for_long(make_town):
    """Its sender has ended all rounds and left; nobody else needs this site either."""
    town = make_town(2, rounds=1)
    town.live()
    site, post = town.sites["north"], town.posts["north"]
    clock = itertools.count(town.now, 0.25)
    quick = replace(site._feeder.schedule, monotonic=lambda: next(clock), leave=0.5)
    site._feeder.schedule, post.wait = quick, lambda _since, _seconds: None
    site._feeder.deadline = Deadline(quick.monotonic, 1e6)
    with town.stores["north"].transaction() as tx:
        post.send(tx, "south", notice_frame(Notice(1)), 0)
    assert not site.over
    site.run()
    assert next(clock) - town.now < 60.0


def test_what_a_late_peer_got_after_the_last_round_is_in_the_log(make_town):
    """A teacher's only round ends before anybody could ask; its process is killed afterwards."""
    town = make_town(3, algorithm="transfer", roles={"north": "teacher"})
    town.until("north", 1)
    assert town.numbers("north") == 0
    for name in ("south", "west"):
        town.until(name, 1)
    told = town.numbers("north")
    assert told > 0 == town.answered("north")  # nothing that leaves may count it yet
    town.kill("north")
    town.live()
    assert town.answered("north") == town.numbers("north") == told
    assert closing_rows(town, "north") == 1


def test_an_answer_that_ends_a_round_is_in_its_row(make_town, monkeypatch):
    """What the machine let out with the input that ended its round is charged before the row."""
    town = make_town(2, rounds=1)
    site, handle = town.sites["north"], town.sites["north"].machine.handle

    def only_now(event):
        effects = handle(event)
        if any(isinstance(effect, RoundOver) for effect in effects):
            site._feeder._told.clear()
        return effects

    monkeypatch.setattr(site.machine, "handle", only_now)
    town.until("north", 1)
    total = site._host.machine.ledger.accounts["south"].total
    with town.stores["north"].view() as tx:
        [row] = [row for row in tx.audit.rows() if row.kind == "round over"]
    answer = ("answer", {"peer": "south", "numbers": total, "total": total})
    assert noted(row.facts) == [answer, answer]  # when it was given, and with the end


def closing_rows(town, name):
    return [kind for kind, _ in town.audited(name)].count("closed")


def test_a_site_that_leaves_closes_its_log_once_and_again_only_if_something_came(make_town):
    town = make_town(2, rounds=1)
    town.live()
    site, post = town.sites["north"], town.posts["north"]
    clock = itertools.count(town.now, 0.25)
    feeder = site._feeder
    feeder.schedule = replace(feeder.schedule, monotonic=lambda: next(clock))
    feeder.deadline = Deadline(feeder.schedule.monotonic, site.left)
    post.wait = lambda _since, _seconds: None
    site.run()
    assert closing_rows(town, "north") == 1
    with town.stores["south"].transaction() as tx:
        town.posts["south"].send(tx, "north", notice_frame(Notice(1)), 0)
    town.posts["south"].announce()
    while town.walk("south"):
        pass
    for _ in range(2):
        site.run()
        assert closing_rows(town, "north") == 2
