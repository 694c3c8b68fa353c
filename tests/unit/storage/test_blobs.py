"""Large values beside the database: files of their own, checked when they are read."""

import errno

import pytest

from securefair.errors import StorageError
from securefair.storage import Store, blobs
from securefair.storage.blobs import INLINE_BYTES

LARGE = b"x" * (INLINE_BYTES + 1)


def test_large_values_are_files_that_go_when_nothing_names_them(tmp_path):
    folder = tmp_path / "s" / "blobs"
    with Store.open(tmp_path / "s") as store:
        with store.transaction() as tx:
            tx.memory.put("a", LARGE)
            tx.outbox.add("b", 0, LARGE)
            tx.memory.put("small", b"1")
        assert len(list(folder.iterdir())) == 1  # one file for both
        with store.transaction() as tx:
            tx.memory.delete("a")
        with store.view() as tx:
            assert next(tx.outbox.pending()).payload == LARGE
        with store.transaction() as tx:
            tx.outbox.acknowledge("b", 0)
        assert list(folder.iterdir()) == []


def test_a_damaged_or_missing_blob_is_noticed(tmp_path):
    with Store.open(tmp_path / "s") as store:
        with store.transaction() as tx:
            tx.memory.put("a", LARGE)
        (blob,) = (tmp_path / "s" / "blobs").iterdir()
        blob.write_bytes(LARGE[:-1] + b"y")
        with store.view() as tx, pytest.raises(StorageError, match="damaged"):
            tx.memory.get("a")
        blob.unlink()
        with store.view() as tx, pytest.raises(StorageError, match="cannot be read"):
            tx.memory.get("a")


def test_a_blob_that_cannot_be_written_is_the_stores_fault(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(blobs, "sync_folder", full)
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(StorageError, match="cannot be written"), store.transaction() as tx:
            tx.memory.put("a", LARGE)
        with store.view() as tx:
            assert tx.memory.get("a") is None
