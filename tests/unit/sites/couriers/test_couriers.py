"""Couriers between two ports that only count: every parcel arrives, whatever happens to it."""

import errno
import os
import threading

import pytest

from securefair.errors import ConfigError, DataError
from securefair.sites.couriers import folder as by_folder
from securefair.sites.couriers.faulty import faulty
from securefair.sites.couriers.folder import (
    LOOK_SOON,
    Pauses,
    make_project_folder,
    start_folder,
    to_folder,
)
from securefair.sites.couriers.local import start_local
from securefair.sites.couriers.relayed import SpoiltArrivals
from securefair.sites.couriers.shared import hold, lies, put, take
from securefair.sites.post import door as door_module
from securefair.sites.post.door import Door, DoorClient
from securefair.sites.post.port import LONGEST_AFTER_A_PARCEL, carry
from securefair.sites.post.refusals import Reason
from support.counting import LIMIT, CountingPort


@pytest.fixture
def ends(tmp_path, monkeypatch):
    monkeypatch.setattr(by_folder, "WAIT", 0.1)  # a thread ends only after its wait
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


def receipt_in(folder):
    """Of south for north, once it is there."""
    for _ in range(5000):
        if (receipt := take(folder, "north", "south.receipt", LIMIT)) is not None:
            return receipt
        threading.Event().wait(0.002)
    raise AssertionError("no receipt came")


@pytest.mark.parametrize("commits", [False, True])
def test_what_a_killed_process_had_taken_comes_first_at_the_next_start(ends, tmp_path, commits):
    """Its receipt was never written, and the sender waited five minutes before it sent it again."""
    north, south, stop = ends
    parcel = north.pending("south", 0)
    put(tmp_path, "south", "north.parcel", parcel)
    assert hold(tmp_path, "south", "north.parcel", LIMIT) == parcel
    if commits:
        south.receive(parcel)
    assert not lies(tmp_path, "south", "north.parcel")
    start_folder(south, tmp_path, stop, every=0.002)
    assert south.wait_for(1)
    assert north.settle("south", receipt_in(tmp_path))
    assert south.taken == [0]


def test_looks_are_close_together_once_something_has_moved_and_then_rarer():
    pauses = Pauses(0.5)
    assert pauses.after_a_look() == pauses.after_a_look() == 0.5
    pauses.soon()
    found = [pauses.after_a_look() for _ in range(30)]
    assert found[0] == LOOK_SOON
    assert found == sorted(found)
    assert found[-1] == 0.5


def test_what_a_site_does_not_take_as_it_ends_comes_first_at_its_next_start(ends, tmp_path):
    """Its store was closed already, or full, and the parcel was gone."""
    north, south, stop = ends
    ending, over = CountingPort("south", "north", 0), threading.Event()
    ending.receive = lambda _: over.set()
    put(tmp_path, "south", "north.parcel", north.pending("south", 0))
    start_folder(ending, tmp_path, over, every=0.002)
    for thread in threading.enumerate():
        if thread.name == "from folder":
            thread.join(10)
    start_folder(south, tmp_path, stop, every=0.002)
    assert south.wait_for(1)


def test_a_receipt_that_cannot_be_written_is_written_later(ends, tmp_path, monkeypatch):
    north, south, stop = ends
    parcel, full, put_of = north.pending("south", 0), ["once", "twice"], by_folder.put
    put(tmp_path, "south", "north.parcel", parcel)

    def put_unless_full(folder, site, name, data):
        if name == "south.receipt" and full:
            full.pop()
            raise OSError(errno.ENOSPC, "no room")
        put_of(folder, site, name, data)

    monkeypatch.setattr(by_folder, "put", put_unless_full)
    start_folder(south, tmp_path, stop, every=0.002)
    assert north.settle("south", receipt_in(tmp_path))


def test_a_site_that_takes_nothing_now_is_asked_again(ends, tmp_path):
    north, south, stop = ends
    receive, full = south.receive, ["once", "twice"]
    south.receive = lambda parcel: receive(parcel) if not full else full.clear()
    put(tmp_path, "south", "north.parcel", north.pending("south", 0))
    start_folder(south, tmp_path, stop, every=0.002)
    assert north.settle("south", receipt_in(tmp_path))


@pytest.mark.parametrize(
    ("place", "name", "taken"), [(by_folder, "let_go", [0]), (os, "rename", [])]
)
def test_a_parcel_that_stays_is_noted_once_and_not_looked_at_more_often(
    ends, tmp_path, monkeypatch, place, name, taken
):
    """It is open elsewhere; or in a sticky folder, where only whoever wrote a file moves it."""
    north, south, _ = ends
    put(tmp_path, "south", "north.parcel", north.pending("south", 0))

    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "it may not be moved")

    monkeypatch.setattr(place, name, refuse)
    pauses, stuck = Pauses(0.5), set()
    for _ in range(3):
        by_folder._collect_from(south, tmp_path, "north", pauses, stuck)
    assert (south.taken, south.noted) == (taken, [("north", Reason.NO_ACCESS)])
    assert pauses.after_a_look() == 0.5
    monkeypatch.undo()
    by_folder._collect_from(south, tmp_path, "north", pauses, stuck)
    assert (south.taken, stuck) == ([0], set())
    assert not lies(tmp_path, "south", "north.parcel.held")


def test_a_shared_folder_that_cannot_be_used_is_named_before_anything_starts(ends, tmp_path):
    north, _, stop = ends
    with pytest.raises(ConfigError, match="is not there"):
        start_folder(north, tmp_path / "unmounted", stop)
    assert not (tmp_path / "unmounted").exists()
    (tmp_path / "north").touch()  # no folder can be made here, root or not
    with pytest.raises(ConfigError, match="cannot be written"):
        start_folder(north, tmp_path, stop)
    assert not any(thread.name.startswith("to ") for thread in threading.enumerate())


def test_a_parcel_that_lies_there_is_not_laid_down_again_and_its_receipt_counts_late(
    tmp_path, monkeypatch
):
    """A share that is a copy: minutes pass each way, and no attempt lasts as long."""
    monkeypatch.setattr(by_folder, "WAIT", 0.0)
    north, now = CountingPort("north", "south", 1), 0.0
    hand_over = to_folder(north, "south", tmp_path, every=0.0, now=lambda: now)
    assert hand_over(b"parcel") is None
    file = tmp_path / "south" / "north.parcel"
    laid = file.stat().st_ino
    now = 1200.0
    assert hand_over(b"parcel") is None
    assert file.stat().st_ino == laid
    assert take(tmp_path, "south", "north.parcel", LIMIT) == b"parcel"
    monkeypatch.setattr(by_folder, "WAIT", 5.0)
    put(tmp_path, "north", "south.receipt", b"receipt")
    assert hand_over(b"parcel") == b"receipt"


def test_a_parcel_that_is_gone_without_a_word_is_laid_down_again(tmp_path, monkeypatch):
    monkeypatch.setattr(by_folder, "WAIT", 0.0)
    north, now = CountingPort("north", "south", 1), 0.0
    hand_over = to_folder(north, "south", tmp_path, every=0.0, now=lambda: now)
    hand_over(b"parcel")
    take(tmp_path, "south", "north.parcel", LIMIT)
    hand_over(b"parcel")
    assert not lies(tmp_path, "south", "north.parcel")  # its receipt may be on its way
    now = by_folder.FIRST_PATIENCE
    hand_over(b"parcel")
    assert lies(tmp_path, "south", "north.parcel")


def test_two_projects_share_a_folder(tmp_path):
    """Both have a site north and a site south."""
    stop, ports = threading.Event(), []
    for digest in (b"\1" * 32, b"\2" * 32):
        folder = make_project_folder(tmp_path, "heart", digest)
        assert folder == make_project_folder(tmp_path, "heart", digest)
        for name, peer in (("north", "south"), ("south", "north")):
            ports.append(CountingPort(name, peer, 20))
            start_folder(ports[-1], folder, stop, every=0.002)
    assert all(port.wait_for(20) for port in ports)
    assert all(port.taken == list(range(20)) for port in ports)
    stop.set()
    for thread in threading.enumerate():
        if thread.name.startswith(("to ", "from ")):
            thread.join(10)


def test_what_nobody_takes_is_not_sent_every_some_seconds():
    """A whole parcel went over each time; in a day these are some hundred, not 17,000."""

    class Counted(threading.Event):
        seconds = 0.0

        def wait(self, timeout):
            self.seconds += timeout
            return self.is_set()

    stop, sent = Counted(), 0

    def refusing(_parcel):
        nonlocal sent
        sent += 1
        if stop.seconds > 86_400:
            stop.set()
        return b"waits"

    carry(CountingPort("north", "south", 1), "south", refusing, stop)
    assert sent < 20 + 86_400 / LONGEST_AFTER_A_PARCEL


def test_where_others_hand_over_arrivals_are_spoilt():
    south = CountingPort("south", "north", 0)
    at_door = SpoiltArrivals(south, lambda _, hand_over: faulty(hand_over, 0.15, "0", longest=0.0))
    north = CountingPort("north", "south", 60)
    lost = 0
    while (parcel := north.pending("south", 0)) is not None:
        receipt = at_door.receive(parcel)
        lost += not receipt
        north.settle("south", receipt)
    assert lost > 10
    assert south.taken == list(range(60))


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


def test_a_door_knows_when_somebody_was_there_last(ends, tmp_path, monkeypatch):
    """So that a site can tell that no courier comes."""
    monkeypatch.setattr(door_module.time, "monotonic", lambda: 100.0)
    door = Door(tmp_path / "n.sock", ends[0])
    client = DoorClient(tmp_path / "n.sock")
    assert door.unvisited == 0.0
    monkeypatch.setattr(door_module.time, "monotonic", lambda: 160.0)
    assert door.unvisited == 60.0  # a clock that is set changes nothing
    client.introduce()
    assert door.unvisited == 0.0
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
