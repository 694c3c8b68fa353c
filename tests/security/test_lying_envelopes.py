"""A peer signs envelopes with dates, counts and epochs that cannot be, or more of them than fit.

Before, one envelope dated 2^63 ended the thread that collects parcels of all peers: the date was
written down for an error text, no calendar has it, and no fault was shown.
"""

import datetime
import threading

import pytest

from securefair.sites.couriers.folder import start_folder
from securefair.sites.couriers.shared import lies, put
from securefair.sites.post.clock import SteadyClock
from securefair.sites.post.peers import read_peer
from securefair.sites.post.post import MOST_WAITING
from support.ends import NOW, WHO, End, envelope_of

YEAR = 365 * 86_400


@pytest.fixture
def south(tmp_path):
    end = End(tmp_path, "south", ("north", "west"))
    yield end
    end.store.close()


LIES = (
    {"sent": 2**63},
    {"sent": 2**64 - 1},
    {"expires": 2**64 - 1},
    {"expires": NOW + YEAR},
    {"audit_count": 2**63},
    {"audit_count": 2**64 - 1},
    {"epoch": 2**64 - 1},
    {"sequence": 2**64 - 1},
)


def vulnerable_utc(seconds):
    """A copy of how a date was written into the text of a refusal."""
    return datetime.datetime.fromtimestamp(int(seconds), tz=datetime.UTC)


@pytest.mark.parametrize("sent", [2**63, 2**64 - 1])
def test_the_vulnerable_step_failed(sent):
    with pytest.raises((OverflowError, ValueError, OSError)):
        vulnerable_utc(sent)


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_a_lie_is_refused_counted_and_named(south, lie):
    assert south.post.receive(envelope_of(WHO["north"], WHO["south"], **lie)) == b""
    assert south.refused() == {"impossible, north": 1}
    assert south.heard() == []


def test_the_collector_serves_the_others_meanwhile(south, tmp_path):
    shared = tmp_path / "shared"
    (shared / "south").mkdir(parents=True)
    stop = threading.Event()
    start_folder(south.post, shared, stop, every=0.002)
    try:
        for lie in LIES:
            lay(shared, "north", envelope_of(WHO["north"], WHO["south"], **lie), south)
        lay(shared, "west", envelope_of(WHO["west"], WHO["south"], frame=b"honest"), south)
        wait_until(south, lambda: south.heard() == [b"honest"])
        wait_until(south, lambda: south.refused() == {"impossible, north": len(LIES)})
    finally:
        stop.set()
        for thread in threading.enumerate():
            if thread.name.startswith(("to ", "from ")):
                thread.join(10)


def lay(shared, sender, parcel, end):
    """Lay a parcel down, and wait until it was collected."""
    put(shared, end.name, f"{sender}.parcel", parcel)
    wait_until(end, lambda: not lies(shared, end.name, f"{sender}.parcel"))


def wait_until(end, holds):
    for _ in range(5000):
        if holds():
            return
        threading.Event().wait(0.002)
    raise AssertionError(f"it never came: {end.refused()}")


def test_what_fails_in_a_thread_is_noted_and_the_next_parcel_is_collected(south, tmp_path):
    shared, fails = tmp_path / "shared", [True]
    (shared / "south").mkdir(parents=True)
    receive, stop = south.post.receive, threading.Event()

    def at_first(parcel):
        if fails.pop() if fails else False:
            raise OverflowError("nobody foresaw this")
        return receive(parcel)

    south.post.receive = at_first
    start_folder(south.post, shared, stop, every=0.002)
    try:
        for _ in range(2):
            lay(shared, "north", envelope_of(WHO["north"], WHO["south"], frame=b"again"), south)
        wait_until(south, lambda: south.heard() == [b"again"])
        assert south.refused() == {"courier failed, north": 1}
    finally:
        stop.set()
        for thread in threading.enumerate():
            if thread.name.startswith(("to ", "from ")):
                thread.join(10)


# --- more than fits ---


def test_a_peer_cannot_fill_the_inbox_and_the_others_are_heard(south):
    """The site is at work: nothing is handled for a while."""
    for sequence in range(MOST_WAITING + 100):
        south.post.receive(envelope_of(WHO["north"], WHO["south"], sequence=sequence))
    assert len(south.heard()) == MOST_WAITING
    assert south.refused() == {"inbox full, north": 1}  # the others came before their turn
    south.post.receive(envelope_of(WHO["west"], WHO["south"], frame=b"honest"))
    assert south.heard()[-1] == b"honest"
    with south.store.transaction() as tx:
        tx.inbox.done(tx.inbox.next())
    south.post.receive(envelope_of(WHO["north"], WHO["south"], sequence=MOST_WAITING))
    assert len(south.heard()) == MOST_WAITING + 1  # what waited is taken once there is room


def test_large_frames_fill_it_sooner(south):
    frame = bytes(south.about.largest_frame)
    for sequence in range(20):
        south.post.receive(envelope_of(WHO["north"], WHO["south"], sequence=sequence, frame=frame))
    assert sum(map(len, south.heard())) <= 8 * len(frame)


# --- clocks ---


class Clocks:
    """A machine whose clock can be set."""

    def __init__(self):
        self.passed, self.set_by = 0.0, 0.0

    def steady(self):
        return SteadyClock(lambda: NOW + self.passed + self.set_by, lambda: self.passed)


@pytest.mark.parametrize("jump", [-YEAR, -86_400, 86_400, YEAR])
def test_a_clock_that_is_set_while_a_site_runs_changes_nothing(jump):
    clocks = Clocks()
    clock = clocks.steady()
    clocks.passed, clocks.set_by = 10.0, jump
    assert clock() == NOW + 10
    assert clock.shifted == jump


def vulnerable_wait(sent, now):
    """A copy of how long an envelope waited: until the date that it bears."""
    return max(0, sent - now)


@pytest.mark.parametrize("tick", [0, 60])
@pytest.mark.parametrize("jump", [86_400, YEAR])
def test_a_clock_that_was_ahead_once_holds_nothing_back(tmp_path, south, tick, jump):
    north = End(tmp_path, "north", ("south", "west"))
    north.store.close()
    north.open(tick)
    north.now = NOW + jump
    north.say("south", b"dated by a wrong clock")
    north.now = NOW + 70  # somebody has set it right
    assert vulnerable_wait(NOW + jump, north.now) > 86_000
    assert north.deliver(south)[0]
    assert south.heard() == [b"dated by a wrong clock"]
    with south.store.view() as tx:
        assert read_peer(tx, "north").ahead >= jump - 100  # a line in the status
    north.store.close()


@pytest.mark.parametrize("jump", [-YEAR, -86_400])
def test_a_clock_that_is_behind_silences_nobody(south, jump):
    south.now = NOW + jump
    south.post.receive(envelope_of(WHO["north"], WHO["south"], frame=b"from the future"))
    assert south.heard() == [b"from the future"]
