"""Outages and restarts burn no rounds, and keep no site from its deadlines."""

import pytest

from securefair.protocol.states import RoundState
from securefair.sites.site.notices import Notice, notice_frame
from securefair.sites.site.recovery import block_in, take_back_in
from securefair.storage import Store
from support.town import NOW

pytestmark = pytest.mark.slow  # whole rounds


def test_peers_that_are_away_already_count_when_others_fall_silent(make_town):
    """Two of four peers are away, a round needs two; then the other two go in the middle of it."""
    town = make_town(5, rounds=6, fewest=2)
    own, *others = town.names
    gone, later = others[-2:], others[:2]
    for name in gone:
        town.until(name, 1)
    for name in gone:
        town.stop(name)
    town.pause = 10.0
    town.until(own, 3)
    assert set(town.sites[own].state.peers.away) == set(gone)
    for name in later:
        town.stop(name)
    began, before = town.now, len(town.records(own))
    while town.now < began + 50 * 50.0:
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
    while any(len(town.records(name)) < 6 for name in ("north", "south")):
        assert town.now < began + 40 * 50.0
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
    assert town.restarts >= 2


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


def says_it_is_here(town, peer, to, ready):
    """A notice to one site alone, and nothing else; of a site that does not run."""
    with town.stores[peer].transaction() as tx:
        town.posts[peer].send(tx, to, notice_frame(Notice(ready)), ready)


@pytest.mark.parametrize(("algorithm", "deadlines"), [("cycle-gossip", 7), ("vpdl", 5)])
def test_a_peer_that_only_says_it_is_here_costs_few_deadlines(make_town, algorithm, deadlines):
    """It cost the site that it said so to a deadline in every round: 24 in 18 rounds of gossip."""
    town = make_town(3, algorithm=algorithm, rounds=12, fewest=1)
    town.pause = 5.0
    for name in town.names:
        town.until(name, 2)
    del town.sites["west"]  # its post goes on
    began, told = town.now, 0
    while len(town.records("north")) < 12:
        if (ready := town.sites["north"].state.peers.announced) > told:
            says_it_is_here(town, "west", "north", min(ready, 12))
            told = ready
        town.walk("west")
        town.step()
    assert (town.now - began) / 50.0 < deadlines + 1


def test_a_site_that_has_blocked_everybody_waits_until_that_is_taken_back(make_town):
    """It ran all its rounds alone, within seconds."""
    town = make_town(2, algorithm="vpdl", rounds=6, fewest=1)
    own, peer = town.names

    def blocks(change):
        town.stop(own)
        with Store.open(town.folder / own) as store, store.transaction() as tx:
            change(tx, peer, NOW + town.now)
        town.start(own)

    town.until(own, 2)
    blocks(block_in)
    for _ in range(60):
        town.step()
    state = town.sites[own].state
    assert len(town.records(own)) <= 3  # the one under way had its answers
    assert (state.missing, state.since > 0) == ((), True)
    blocks(take_back_in)
    town.live()
    assert town.sites[own].state.since == 0
    assert {one.round for one in town.records(own)} == set(range(6))


def test_a_site_that_blocks_everybody_before_its_first_round_waits(make_town):
    town = make_town(2, algorithm="vpdl", rounds=6, fewest=1)
    own, peer = town.names
    town.stop(own)
    with Store.open(town.folder / own) as store, store.transaction() as tx:
        block_in(tx, peer, NOW)
    town.start(own)
    for _ in range(100):
        town.step()
    assert town.records(own) == []
    assert town.sites[own].state.since > 0


def test_one_liar_that_is_here_alone_makes_nobody_skip_its_rounds(make_town):
    """While the third was down, it said that it is through: 19 of 24 rounds were lost for good."""
    town = make_town(3, rounds=12, fewest=1)
    town.pause = 10.0
    town.until("north", 2)
    town.stop("west")
    while "west" not in town.sites["north"].state.peers.away:
        town.step()
    says_it_is_here(town, "south", "north", 12)
    for _ in range(3000):
        town.step()
        if town.sites["north"].finished:
            break
    assert [one.round for one in town.records("north")] == list(range(12))


def test_who_comes_back_as_another_goes_is_asked_in_the_same_round(make_town):
    """It counts as present from then on, so the round must not end without it."""
    town = make_town(3, algorithm="vpdl", rounds=6, fewest=1)
    town.pause = 10.0
    own, back, goes = town.names
    town.goes_on_without(own, back)
    number = town.sites[own].machine.memory.round
    town.stop(goes)  # asked in this round
    while not town.sites[own].state.since:
        if not town.sites[own].turn() and not town.walk(own):
            town.now += 5.0
    assert number not in {record.round for record in town.records(own)}
    town.start(back)
    while number not in (records := {record.round: record for record in town.records(own)}):
        moved = [town.sites[name].turn() | town.walk(name) for name in (own, back)]
        town.now += 0.0 if any(moved) else 1.0
    assert {*records[number].opened, *records[number].declined} == {back}
    assert records[number].missed == (goes,)


def test_a_peer_that_rests_is_asked_once_it_is_needed(make_town):
    """West is mute and rests; as east goes, west counts again, and the round asks it."""
    town = make_town(4, algorithm="vpdl", rounds=20, fewest=2)
    town.pause = 5.0
    own, _, mute, goes = town.names
    for name in town.names:
        town.until(name, 2)
    del town.sites[mute]  # its post goes on
    told = 0

    def says(ready):
        nonlocal told
        if ready > told:
            with town.stores[mute].transaction() as tx:
                town.posts[mute].send(tx, own, notice_frame(Notice(ready)), ready)
            town.posts[mute].announce()
        told = max(told, ready)

    site = town.sites[own]
    while mute not in site.state.peers.resting or goes not in site.machine.awaited:
        assert town.now < 100 * 50.0, "nobody rests"
        says(site.state.peers.announced)
        town.walk(mute)
        town.step()
    number = site.machine.memory.round
    town.stop(goes)
    until = town.now + 50 * 50.0
    while town.now < until:
        if site.state.since:
            says(20)
        moved = [town.sites[name].turn() | town.walk(name) for name in (own, town.names[1])]
        if not (any(moved) | town.walk(mute)):
            town.now += 5.0
    assert site.machine.memory.round == number
    assert number not in {record.round for record in town.records(own)}
    assert mute in site.machine.awaited


def test_a_block_in_the_midst_of_a_round_ends_it_for_nobody(make_town):
    town = make_town(3, rounds=4, fewest=2)
    town.within_round("north", 2)
    town.stop("north")
    with Store.open(town.folder / "north") as store, store.transaction() as tx:
        for peer in ("south", "west"):
            block_in(tx, peer, NOW + town.now)
    town.start("north")
    for _ in range(50):
        town.sites["north"].turn()
    assert town.sites["north"].machine.memory.state is RoundState.EXCHANGING
    assert town.records("north")[-1].round == 1
    town.stop("north")
    with Store.open(town.folder / "north") as store, store.transaction() as tx:
        for peer in ("south", "west"):
            take_back_in(tx, peer, NOW + town.now)
    town.start("north")
    town.live()
    assert len(town.records("north")) == 4
    for record in town.records("north"):
        assert {*record.opened, *record.declined} == {"south", "west"}


def test_a_farewell_that_nobody_has_read_outlives_a_block(make_town):
    town = make_town(3, rounds=4, fewest=2)
    town.pause = 10.0
    town.until("north", 2)
    for _ in range(30):
        town.step()
    leaving, farewell = town.posts["south"], notice_frame(Notice(ready=2, leaves=True))
    with town.stores["south"].transaction() as tx:
        leaving.send(tx, "north", farewell, 2)
        leaving.send(tx, "west", farewell, 2)
    leaving.announce()
    for peer in ("north", "west"):
        while (parcel := leaving.pending(peer, 0)) is not None:
            leaving.settle(peer, town.posts[peer].receive(parcel))  # taken; no site has a turn
    town.stop("south")
    town.stop("north")
    with Store.open(town.folder / "north") as store, store.transaction() as tx:
        block_in(tx, "south", NOW + town.now)
        take_back_in(tx, "south", NOW + town.now)
    town.start("north")
    for _ in range(20_000):
        town.step()
        if town.sites["north"].over:
            break
    assert town.sites["north"].finished
    assert town.sites["north"].state.peers.left == ("south",)


def test_a_farewell_in_the_midst_of_a_round_ends_it_for_nobody(make_town):
    """West is away, and south leaves: the round ended with nobody, although west comes back."""
    town = make_town(3, algorithm="vpdl", rounds=6, fewest=1)
    town.pause = 10.0
    own, leaves, back = town.names
    town.goes_on_without(own, back)
    site, number = town.sites[own], town.sites[own].machine.memory.round
    del town.sites[leaves]  # its post goes on
    farewell, post = notice_frame(Notice(number, leaves=True)), town.posts[leaves]
    with town.stores[leaves].transaction() as tx:
        post.send(tx, own, farewell, number)
    post.announce()
    for _ in range(200):
        if not (site.turn() | town.walk(own) | town.walk(leaves)):
            town.now += 5.0
    assert site.state.peers.left == (leaves,)
    assert (site.machine.memory.round, site.state.missing) == (number, (back,))
    assert number not in {record.round for record in town.records(own)}
    town.start(back)
    while number not in (records := {record.round: record for record in town.records(own)}):
        moved = [town.sites[name].turn() | town.walk(name) for name in (own, back)]
        town.now += 0.0 if any(moved) else 1.0
    assert {*records[number].opened, *records[number].declined} == {back}
