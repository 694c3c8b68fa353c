"""A peer that asks again and again, and confirms nothing, does not fill a site's disk.

South is a member of the project. It takes no envelope of north's, and so confirms none, but goes on
asking: the same question, and others of the same round. Protected: what lies in north's outbox for
it stays what it was, however often it asks the same. This is no bound: there is one reply for each
different question, and a refusal repeats the number of the attempt, which the asker chooses. 250
questions with other attempts made 252 envelopes.
"""

import msgspec
import pytest

from securefair.protocol.codec import encode
from securefair.sites.site.notices import Notice, message_frame, notice_frame
from support.ends import End
from support.town import towns

TIMES = 60


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
