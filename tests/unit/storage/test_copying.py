"""Copies of a store: whole, of one moment, and beside those that are there."""

import errno
import os

import pytest

from securefair.errors import StorageError
from securefair.storage import Store
from securefair.storage.blobs import INLINE_BYTES
from securefair.storage.copying import beside, copied, put_aside

LARGE = b"x" * (INLINE_BYTES + 1)


@pytest.fixture
def folder(tmp_path):
    with Store.open(tmp_path / "s") as store, store.transaction() as tx:
        tx.memory.put("a", b"1")
        tx.memory.put("large", LARGE)
    return tmp_path / "s"


def names(folder):
    return sorted(path.name for path in folder.parent.iterdir())


def test_a_copy_is_of_what_is_committed_while_the_store_is_open(folder):
    """Also of what stands in the log alone, and not of a transaction that is under way."""
    with Store.open(folder) as store:
        with store.transaction() as tx:
            tx.memory.put("a", b"2")
        with store.transaction() as tx:
            tx.memory.put("a", b"3")
            copy = copied(folder, "format-1")
    assert copy == folder.with_name("s.format-1")
    with Store.open(copy, create=False) as store, store.view() as tx:
        assert (tx.memory.get("a"), tx.memory.get("large")) == (b"2", LARGE)
    assert folder.with_name("s.format-1").stat().st_mode & 0o777 == 0o700


def test_what_a_killed_process_has_left_of_a_copy_goes(folder):
    part = folder.with_name("s.part")
    part.mkdir()
    (part / "store.sqlite").write_bytes(b"half")
    copied(folder, "format-1")
    assert names(folder) == ["s", "s.format-1"]


@pytest.mark.parametrize("fails", ["fsync", "rename"])
def test_a_copy_that_fails_leaves_nothing(folder, monkeypatch, fails):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, fails, full)
        with pytest.raises(StorageError, match="the disk is full") as refused:
            copied(folder, "format-1")
    assert refused.value.passing
    assert names(folder) == ["s"]


def test_a_copy_takes_the_place_of_none(folder):
    made = []
    for number in range(3):
        with Store.open(folder) as store, store.transaction() as tx:
            tx.memory.put("a", str(number).encode())
        made.append(copied(folder, "format-1").name)
    assert made == ["s.format-1", "s.format-1-2", "s.format-1-3"]


def test_the_same_is_not_copied_twice(folder):
    """Each attempt that was killed left a whole copy more."""
    assert len({copied(folder, "format-1") for _ in range(3)}) == 1
    assert names(folder) == ["s", "s.format-1"]
    (folder.with_name("s.format-1") / "blobs" / "other").touch()
    assert copied(folder, "format-1").name == "s.format-1-2"


def test_a_store_that_is_put_aside_keeps_all_it_holds(folder):
    before = {path.name for path in folder.rglob("*")}
    place = put_aside(folder, "damaged")
    assert names(folder) == ["s.damaged"]
    assert {path.name for path in place.rglob("*")} == before
    assert beside(folder, "damaged").name == "s.damaged-2"
    with pytest.raises(StorageError, match="a file cannot be written"):
        put_aside(folder, "damaged")
