"""Large values beside the database: files of their own, checked when they are read."""

import errno

import pytest

from securefair.errors import StorageError
from securefair.storage import Store, blobs, files
from securefair.storage.blobs import INLINE_BYTES
from securefair.storage.files import DamagedError

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
        with store.view() as tx, pytest.raises(DamagedError, match=str(blob)):
            tx.memory.get("a")
        blob.unlink()
        with store.view() as tx, pytest.raises(DamagedError, match="No such file"):
            tx.memory.get("a")
        blob.mkdir()
        with store.view() as tx, pytest.raises(StorageError, match="cannot be read"):
            tx.memory.get("a")


@pytest.mark.parametrize("place", [blobs, files])
@pytest.mark.parametrize(
    ("code", "expected"),
    [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "a file cannot be written")],
)
def test_a_blob_that_cannot_be_written_is_the_stores_fault(
    tmp_path, monkeypatch, place, code, expected
):
    def refuse(_):
        raise OSError(code, "refused")

    monkeypatch.setattr(place, "sync_folder", refuse)
    with Store.open(tmp_path / "s") as store:
        with pytest.raises(StorageError, match=expected) as refused, store.transaction() as tx:
            tx.memory.put("a", LARGE)
        assert refused.value.passing == (code == errno.ENOSPC)
        with store.view() as tx:
            assert tx.memory.get("a") is None
