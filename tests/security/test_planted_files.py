"""Somebody who can write into the shared folder plants links, pipes and devices there.

Before, a link at the name of a half-written file made a site overwrite its own keystore, a link to
a device filled its memory, and a pipe stopped the thread that collects from all peers.
"""

import os
import threading
from pathlib import Path

import pytest

from securefair.errors import StorageError
from securefair.sites.couriers.folder import start_folder, to_folder
from securefair.sites.couriers.shared import hold, let_go, put, take
from securefair.storage.files import NoFileError, read_private, replace_file
from support.ends import WHO, End, envelope_of

SECRET = b"the only copy of the keys"


@pytest.fixture
def place(tmp_path):
    shared = tmp_path / "shared"
    (shared / "south").mkdir(parents=True)
    (shared / "north").mkdir()
    keys = tmp_path / "keys"
    keys.write_bytes(SECRET)
    keys.chmod(0o600)
    return shared, keys


def vulnerable_put(path: Path, data: bytes):
    """A copy of how a parcel was laid down."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)


def vulnerable_take(path: Path, limit: int):
    """A copy of how a parcel was taken: a device has no size."""
    size = path.stat().st_size
    return path.read_bytes() if size <= limit else None


def test_the_vulnerable_step_overwrote_a_keystore(place):
    shared, keys = place
    (shared / "south" / ".north.parcel.part").symlink_to(keys)
    vulnerable_put(shared / "south" / "north.parcel", b"parcel")
    assert keys.read_bytes() == b"parcel"


def test_what_a_killed_process_left_half_written_is_swept_and_nothing_else(tmp_path, place):
    """A copy of every parcel in whose midst a process was killed stayed in the share for good."""
    shared, keys = place
    own = ["south/.north.parcel.{}", "south/.north.receipt.{}", "north/..trial.{}"]
    others = ["south/.east.parcel.{}", "south/.north.parcel.{}0", "north/.north.parcel.{}"]
    hexadecimal = "0123456789abcdef"
    for name in (*own, *others):
        (shared / name.format(hexadecimal)).write_bytes(b"half a par")
    (shared / "south" / "north.parcel").write_bytes(b"whole")
    planted = shared / "south" / f".north.parcel.{hexadecimal[::-1]}"
    planted.symlink_to(keys)
    (shared / "south" / ".north.receipt.aaaaaaaaaaaaaaaa").mkdir()
    stop = threading.Event()
    stop.set()  # it carries nothing
    north = End(tmp_path, "north", ("south",))
    start_folder(north.post, shared, stop)
    north.post.announce()
    assert not [name for name in own if (shared / name.format(hexadecimal)).exists()]
    assert all((shared / name.format(hexadecimal)).exists() for name in others)
    assert (shared / "south" / "north.parcel").read_bytes() == b"whole"
    assert planted.is_symlink()
    assert keys.read_bytes() == SECRET
    north.store.close()


def test_a_planted_link_is_never_written_through(place):
    shared, keys = place
    (shared / "south" / ".north.parcel.part").symlink_to(keys)
    (shared / "south" / "north.parcel").symlink_to(keys)
    put(shared, "south", "north.parcel", b"parcel")
    assert keys.read_bytes() == SECRET
    found = shared / "south" / "north.parcel"
    assert not found.is_symlink()
    assert found.read_bytes() == b"parcel"


def test_a_part_of_the_folder_that_is_a_link_is_not_entered(place, tmp_path):
    shared, _ = place
    (shared / "west").symlink_to(tmp_path)
    with pytest.raises(OSError, match="west"):
        put(shared, "west", "keys", b"parcel")
    assert (tmp_path / "keys").read_bytes() == SECRET


def test_the_vulnerable_step_read_what_a_link_led_to(place):
    shared, keys = place
    (shared / "south" / "north.parcel").symlink_to(keys)
    assert vulnerable_take(shared / "south" / "north.parcel", 100) == SECRET
    device = shared / "south" / "west.parcel"
    device.symlink_to("/dev/zero")
    assert device.stat().st_size == 0  # so it was read to its end, which it has not


def planted(kind, path, keys):
    if kind == "link":
        path.symlink_to(keys)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "something").touch()
    elif kind == "large":
        grown = keys.with_name("grown")  # whoever looks in between would find an empty file
        with grown.open("wb") as file:
            file.truncate(1 << 40)  # takes no room, and would take all memory
        grown.replace(path)


KINDS = ("link", "device", "dangling", "pipe", "folder", "large")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_put_away_unread(place, kind):
    shared, keys = place
    planted(kind, shared / "south" / "north.parcel", keys)
    with pytest.raises(NoFileError):
        take(shared, "south", "north.parcel", 1 << 20)
    assert take(shared, "south", "north.parcel", 1 << 20) is None
    assert keys.read_bytes() == SECRET


@pytest.mark.parametrize("name", ["north.parcel", "north.parcel.held"])
@pytest.mark.parametrize("kind", KINDS)
def test_so_is_what_lies_where_a_parcel_is_held(place, kind, name):
    shared, keys = place
    planted(kind, shared / "south" / name, keys)
    with pytest.raises(NoFileError):
        hold(shared, "south", "north.parcel", 1 << 20)
    put(shared, "south", "north.parcel", b"honest")
    assert hold(shared, "south", "north.parcel", 1 << 20) == b"honest"
    put(shared, "south", "north.parcel", b"next")
    assert hold(shared, "south", "north.parcel", 1 << 20) == b"honest"
    let_go(shared, "south", "north.parcel")
    assert hold(shared, "south", "north.parcel", 1 << 20) == b"next"
    assert keys.read_bytes() == SECRET


@pytest.mark.parametrize("kind", KINDS)
def test_the_other_peers_are_collected_from_meanwhile(place, tmp_path, kind):
    shared, keys = place
    south, stop = End(tmp_path, "south", ("north", "west")), threading.Event()
    planted(kind, shared / "south" / "north.parcel", keys)
    start_folder(south.post, shared, stop, every=0.002)
    try:
        parcel = envelope_of(WHO["west"], WHO["south"], frame=b"honest")
        put(shared, "south", "west.parcel", parcel)
        for _ in range(5000):
            if south.heard() and south.refused():
                break
            threading.Event().wait(0.002)
        assert south.heard() == [b"honest"]
        assert south.refused() == {"not a file, north": 1}
    finally:
        stop.set()
        south.post.announce()  # wakes who waits for something to carry
        for thread in threading.enumerate():
            if thread.name.startswith(("to ", "from ")):
                thread.join(10)
        south.store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_that_is_no_file_is_noted(place, tmp_path, kind):
    shared, keys = place
    south = End(tmp_path, "south", ("north", "west"))
    hand_over = to_folder(south.post, "north", shared, every=0.001)
    answered = threading.Thread(target=plant_once_asked, args=(kind, shared, keys))
    answered.start()
    assert hand_over(b"parcel") is None
    answered.join(10)
    assert south.refused() == {"not a file, north": 1}
    south.store.close()


def plant_once_asked(kind, shared, keys):
    while not (shared / "north" / "south.parcel").exists():
        threading.Event().wait(0.001)
    planted(kind, shared / "south" / "north.receipt", keys)


# --- private files ---


@pytest.mark.parametrize("kind", ["device", "pipe", "large"])
def test_a_keystore_that_is_no_file_is_neither_waited_for_nor_read(tmp_path, kind):
    path = tmp_path / "store"
    planted(kind, path, tmp_path)
    if kind != "device":
        path.chmod(0o600)
    with pytest.raises(StorageError):
        read_private(path, "the keystore")


def test_nobody_guesses_the_name_of_a_half_written_file(tmp_path, monkeypatch):
    """The former name was made of the process and the thread, and could be linked before."""
    keys = tmp_path / "keys"
    keys.write_bytes(SECRET)
    guess = tmp_path / f".file.{os.getpid()}.{threading.get_ident()}.tmp"
    guess.symlink_to(keys)
    replace_file(tmp_path / "file", b"content", mode=0o600)
    assert keys.read_bytes() == SECRET
    assert guess.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"
