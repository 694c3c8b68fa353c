"""A peer that asks again and again, and confirms nothing, does not fill a site's disk.

South is a member of the project. It takes no envelope of north's, and so confirms none, but goes on
asking: the same question, and others. Protected: replies that wait in north's outbox stay below
what the agreement lets one peer be owed, however often it asks, and nothing is charged for the
rest. There was one for each different question, and a refusal repeats the number of the attempt,
which the asker chooses: 250 questions made 252 envelopes.

Questions are let be, and not kept waiting at the door: two honest sites, each of them full, would
both wait for the other for ever (decision 57).
"""

import msgspec
import pytest

from securefair.protocol.codec import encode
from securefair.sites.post.peers import CONFIRMS_NOTHING, QUESTION, REPLY, read_peer, unconfirmed
from securefair.sites.site import attendance
from securefair.sites.site.attendance import PATIENCE
from securefair.sites.site.notices import Notice, message_frame, notice_frame
from securefair.sites.site.recovery import block_in, take_back_in
from securefair.storage import Store
from support.ends import End
from support.town import towns

TIMES = 10
MANY = 24


@pytest.fixture
def make_town(tmp_path):
    with towns(tmp_path) as make:
        yield make


def outbox(town, name):
    """Envelopes and their bytes."""
    with town.stores[name].view() as tx:
        sizes = [len(item.payload) for item in tx.outbox.pending()]
    return len(sizes), sum(sizes)


def asks(town, ask, times):
    """South asks so often, and hears nothing."""
    frame = message_frame(encode(ask, town.collaboration.limits))
    south, north = town.posts["south"], town.posts["north"]
    for _ in range(times):
        with town.stores["south"].transaction() as tx:
            south.send(tx, "north", frame, ask.round)
        south.announce()
        while (parcel := south.pending("north", 0)) is not None:
            assert south.settle("north", north.receive(parcel))
            while town.sites["north"].turn():
                pass


def test_replies_to_one_question_wait_once(make_town):
    town = make_town(3, rounds=4, fewest=1)
    town.until("south", 1)
    machine = town.sites["north"].machine
    (served, *_) = machine.memory.peers["south"].serving.values()
    asks(town, served.asked, 1)
    before = outbox(town, "north")
    asks(town, served.asked, TIMES)
    assert outbox(town, "north") == before
    other = msgspec.structs.replace(served.asked, key_epoch=served.asked.key_epoch + 1)
    asks(town, other, 1)
    declined = outbox(town, "north")
    assert declined[0] <= before[0] + 1
    asks(town, other, TIMES)
    assert outbox(town, "north") == declined
    town.kill("north")  # and it is remembered
    asks(town, other, 2)
    assert outbox(town, "north") == declined


def attempts_of(served):
    """The same question over and over, each time as another attempt."""
    for attempt in range(1, 1 + MANY):
        yield msgspec.structs.replace(served.asked, attempt=attempt)


@pytest.mark.parametrize(
    "algorithm", ["cycle", pytest.param("cycle-gossip", marks=pytest.mark.slow)]
)
def test_replies_to_different_questions_have_a_bound(make_town, algorithm):
    """As many others made as many envelopes more."""
    town = make_town(3, algorithm=algorithm, rounds=3, fewest=1)
    town.until("south", 1)
    machine = town.sites["north"].machine
    most = machine.settings.most_replies("south")
    (served, *_) = machine.memory.peers["south"].serving.values()
    first, *others = attempts_of(served)
    asks(town, first, 1)
    before, ledger = outbox(town, "north")[0], machine.ledger
    for ask in others:
        asks(town, ask, 1)
    with town.stores["north"].view() as tx:
        assert unconfirmed(tx, "south", REPLY) == most < MANY
        known = read_peer(tx, "south")
    assert outbox(town, "north")[0] <= before + most
    assert machine.ledger == ledger
    assert town.refused("north")["outbox full, south"] >= MANY - most
    assert known.trouble == CONFIRMS_NOTHING  # which `site status`, page, log and metrics say
    town.kill("north")  # and it is remembered
    asks(town, msgspec.structs.replace(served.asked, attempt=1 + MANY), 1)
    with town.stores["north"].view() as tx:
        assert unconfirmed(tx, "south", REPLY) == most

    town.live()  # south confirms, and all is as if it had never asked
    assert all(len(town.records(name)) == town.rounds for name in town.names)
    last = town.records("south")[-1]
    assert "north" in (*last.opened, *last.declined, *last.offered, *last.combined)
    with town.stores["north"].view() as tx:
        assert (unconfirmed(tx, "south", REPLY), read_peer(tx, "south").trouble) == (0, "")


def test_others_are_answered_meanwhile(make_town):
    town = make_town(3, rounds=4, fewest=1)
    town.until("south", 1)
    (served, *_) = town.sites["north"].machine.memory.peers["south"].serving.values()
    for ask in attempts_of(served):
        asks(town, ask, 1)

    def all_but_to_south(peer, parcel):
        return None if peer == "south" else town.deliver(peer, parcel)

    town.until("west", 4, all_but_to_south)
    assert all("north" in record.opened for record in town.records("west"))


def test_honest_sites_over_slow_ways_come_to_no_bound_and_no_standstill(make_town):
    """Every way takes so long that envelopes of a round need three: replies pile up at both ends.

    Had each let the other's questions wait until its replies were confirmed, neither would take
    what lies behind the other's first question."""
    town = make_town(3, rounds=8, round_seconds=50.0)
    town.pause = 5.0
    laid = {}

    def slowly(peer, parcel):
        key = (peer, parcel)
        if town.now < laid.setdefault(key, town.now) + 40.0:
            return None
        del laid[key]
        return town.deliver(peer, parcel)

    town.live(slowly)
    assert all(len(town.records(name)) == town.rounds for name in town.names)
    assert not any("outbox full" in what for name in town.names for what in town.refused(name))
    for name in town.names:
        with town.stores[name].view() as tx:
            assert not any(unconfirmed(tx, peer) for peer in town.names if peer != name)


@pytest.mark.parametrize("patience", [PATIENCE, pytest.param(100, marks=pytest.mark.slow)])
def test_sites_that_wait_for_each_other_over_one_slow_way_go_on(make_town, monkeypatch, patience):
    """Replies pile up at one end, which lets a question be; its deadline counts for nothing, as the
    third site is gone. Each waited for the other for good, an empty outbox at both ends."""
    monkeypatch.setattr(attendance, "PATIENCE", patience)
    town = make_town(3, rounds=9, round_seconds=50.0, fewest=1)
    town.pause = 5.0
    laid, carrying, heals = {}, [], [float("inf")]

    def one_way_slowly(peer, parcel):
        slow = (carrying[-1], peer) == ("north", "south") and town.now < heals[0]
        if slow and town.now < laid.setdefault(parcel, town.now) + 40.0:
            return None
        return town.deliver(peer, parcel)

    walk = town.walk

    def noting_who(name, hand_over=None):
        carrying.append(name)
        return walk(name, hand_over)

    town.walk = noting_who
    town.until("west", 4, one_way_slowly)
    town.stop("west")
    heals[0] = town.now + 300
    for name in ("north", "south"):
        while len(town.records(name)) < town.rounds:
            assert town.now < 6000, "they stand still"
            town.step(one_way_slowly)
    full = any("outbox full" in what for name in town.sites for what in town.refused(name))
    assert full or patience == PATIENCE  # who rests is asked too rarely for that


@pytest.mark.parametrize(
    "algorithm", ["cycle", pytest.param("cycle-gossip", marks=pytest.mark.slow)]
)
def test_a_block_taken_back_leaves_no_site_waiting(make_town, algorithm):
    """The question of the blocked site was confirmed, thrown away and never said again; as all
    peers were needed, nobody went on any more."""
    town = make_town(3, algorithm=algorithm, rounds=4, round_seconds=50.0, fewest=2)
    town.pause = 10.0
    town.until("south", 2)

    def asked():
        with town.stores["north"].view() as tx:
            return any(item.stream.startswith("south ") for item in tx.inbox.pending())

    while not asked():
        town.step()
    for change in (block_in, take_back_in):
        town.stop("north")
        with Store.open(town.folder / "north") as store, store.transaction() as tx:
            change(tx, "south", town.now)
        town.start("north")
        for _ in range(20 if change is block_in else 0):
            town.step()
    while not all(town.records(name)[-1].round == town.rounds - 1 for name in town.names):
        assert town.now < 6000, "they stand still"
        town.step()


def test_a_peer_that_reads_nothing_is_asked_no_more(make_town):
    """It was asked in every round as long as it said anything: a question a round on the disk."""
    town = make_town(3, rounds=12, fewest=1)
    town.until("south", 1)
    post = town.posts["south"]

    def none_to_south(peer, parcel):
        return None if peer == "south" else town.deliver(peer, parcel)

    for number in range(2, 12):
        with town.stores["south"].transaction() as tx:  # it is here, and says so
            post.send(tx, "north", notice_frame(Notice(number)), number)
        post.announce()
        while (parcel := post.pending("north", 0)) is not None:
            post.settle("north", town.posts["north"].receive(parcel))
        town.until("north", number, none_to_south)
    with town.stores["north"].view() as tx:
        waiting = unconfirmed(tx, "south", QUESTION)
    assert 0 < waiting <= town.sites["north"].machine.settings.most_questions("south")


def test_what_is_sent_costs_the_same_however_much_waits(tmp_path):
    """What was remembered of every envelope that waits was written anew for each."""
    north, south = End(tmp_path, "north", ("south",)), End(tmp_path, "south", ("north",))
    sizes = []
    for number in range(MANY):
        north.say("south", notice_frame(Notice(number)))
        with north.store.view() as tx:
            sizes.append(sum(len(tx.memory.get(name)) for name in tx.memory.names()))
    assert max(sizes) <= min(sizes) + 16  # longer numbers
    assert len(south.heard()) == 0
    for end in (north, south):
        end.store.close()


def test_what_was_confirmed_may_be_said_again(tmp_path):
    ends = [End(tmp_path, *names) for names in (("north", ("south",)), ("south", ("north",)))]
    north, south = ends
    frame = notice_frame(Notice(1))
    for _ in range(2):
        north.say("south", frame, frame)  # twice in a row is once
        assert north.deliver(south)[0]
        assert north.post.pending("south", 0) is None
    assert south.heard() == [frame, frame]
    for end in ends:
        end.store.close()
