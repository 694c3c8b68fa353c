"""Couriers between two ports that only count: every parcel arrives, whatever happens to it."""

import threading
from collections import deque

import pytest

from securefair.errors import ConfigError, DataError
from securefair.sites.couriers.faulty import faulty
from securefair.sites.couriers.folder import start_folder
from securefair.sites.couriers.local import start_local
from securefair.sites.post.door import Door, DoorClient

LIMIT = 1 << 16


class CountingPort:
    """Sends numbers to one peer; takes whichever comes next, once."""

    limit = LIMIT

    def __init__(self, name, peer, count):
        self.name, self.peers = name, (peer,)
        self.outbox = deque(range(count))
        self.taken = []
        self.noted = []
        self.changed = threading.Condition()
        self.attempt = 0

    def pending(self, _, seconds):
        with self.changed:
            if not self.outbox:
                self.changed.wait(min(seconds, 0.05))
                return None
            self.attempt += 1
            return self.attempt.to_bytes(16, "big") + self.outbox[0].to_bytes(4, "big") * 3

    def settle(self, _, receipt):
        with self.changed:
            good = receipt == b"taken" + self.attempt.to_bytes(16, "big")
            if good:
                self.outbox.popleft()
                self.changed.notify_all()
            return good

    def receive(self, parcel):
        nonce, content = parcel[:16], parcel[16:]
        with self.changed:
            if len(content) != 12 or len({content[:4], content[4:8], content[8:]}) > 1:
                return b""
            number = int.from_bytes(content[:4], "big")
            if number == len(self.taken):
                self.taken.append(number)
                self.changed.notify_all()
            return b"taken" + nonce if number < len(self.taken) else b""

    def note(self, peer, reason):
        with self.changed:
            self.noted.append((peer, reason))
            self.changed.notify_all()

    def wait_for(self, count):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.taken) >= count, 60)


@pytest.fixture
def ends(tmp_path):
    north, south = CountingPort("north", "south", 30), CountingPort("south", "north", 30)
    stop = threading.Event()
    yield north, south, stop
    stop.set()
    for thread in threading.enumerate():
        if thread.name.startswith(("to ", "from ")):
            thread.join(10)


def test_local_carries_everything_in_order(ends, tmp_path):
    north, south, stop = ends
    paths = {"north": tmp_path / "n.sock", "south": tmp_path / "s.sock"}
    doors = [Door(paths["north"], north), Door(paths["south"], south)]
    for port in (north, south):
        start_local(port, paths, stop)
    assert north.wait_for(30)
    assert south.wait_for(30)
    assert north.taken == south.taken == list(range(30))
    for door in doors:
        door.close()


def test_a_peer_that_comes_late_gets_everything(ends, tmp_path):
    north, south, stop = ends
    paths = {"north": tmp_path / "n.sock", "south": tmp_path / "s.sock"}
    start_local(north, paths, stop)
    door = Door(paths["south"], south)
    assert south.wait_for(30)
    door.close()


def test_a_folder_carries_everything_in_order(ends, tmp_path):
    north, south, stop = ends
    for port in (north, south):
        start_folder(port, tmp_path, stop, every=0.002)
    assert north.wait_for(30)
    assert south.wait_for(30)
    assert north.taken == south.taken == list(range(30))


def test_a_shared_folder_that_cannot_be_used_is_named_before_anything_starts(ends, tmp_path):
    north, _, stop = ends
    with pytest.raises(ConfigError, match="is not there"):
        start_folder(north, tmp_path / "unmounted", stop)
    assert not (tmp_path / "unmounted").exists()
    (tmp_path / "north").touch()  # no folder can be made here, root or not
    with pytest.raises(ConfigError, match="cannot be written"):
        start_folder(north, tmp_path, stop)
    assert not any(thread.name.startswith("to ") for thread in threading.enumerate())


@pytest.mark.parametrize("seed", range(5))
def test_a_faulty_courier_loses_nothing(seed):
    north, south = CountingPort("north", "south", 60), CountingPort("south", "north", 0)
    hand_over = faulty(south.receive, 0.15, f"{seed}", longest=0.0)
    for _ in range(2000):
        parcel = north.pending("south", 0)
        if parcel is None:
            break
        receipt = hand_over(parcel)
        if receipt:
            north.settle("south", receipt)
    assert south.taken == list(range(60))


def test_a_door_answers_what_a_port_would(ends, tmp_path):
    north, _, _ = ends
    door = Door(tmp_path / "n.sock", north)
    client = DoorClient(tmp_path / "n.sock")
    client.introduce()
    assert (client.name, client.peers, client.limit) == ("north", ("south",), LIMIT)
    parcel = client.pending("south", 1.0)
    assert parcel is not None
    assert client.settle("south", b"wrong") is False
    assert client.settle("south", b"taken" + parcel[:16]) is True
    client.close()
    door.close()


def test_an_oversized_request_ends_the_connection_unread(ends, tmp_path):
    north, _, _ = ends
    door = Door(tmp_path / "n.sock", north)
    client = DoorClient(tmp_path / "n.sock")
    with pytest.raises(OSError, match=r"ended the connection|Broken pipe|reset"):
        client.receive(bytes(LIMIT + 1))
    assert north.taken == []
    client.close()
    door.close()


def test_nobody_of_that_name_is_at_the_door(ends, tmp_path):
    door = Door(tmp_path / "n.sock", ends[0])
    client = DoorClient(tmp_path / "n.sock")
    with pytest.raises(OSError, match="ended the connection"):
        client.pending("nobody", 0.1)
    door.close()


def test_an_oversized_reply_is_not_read(ends, tmp_path):
    north, _, _ = ends
    door = Door(tmp_path / "n.sock", north)
    client = DoorClient(tmp_path / "n.sock", limit=3)
    with pytest.raises(DataError, match="too large"):
        client.pending("south", 1.0)
    door.close()


def test_a_path_that_no_socket_can_have_is_refused(ends, tmp_path):
    with pytest.raises(ConfigError, match="too long"):
        Door(tmp_path / ("x" * 120), ends[0])
