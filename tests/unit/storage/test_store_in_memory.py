"""A store in memory, and one on disk that does not wait for it."""

import pytest

from securefair.errors import LedgerError, StorageError
from securefair.storage import Store

LARGE = bytes(300_000)


def overdraw(store):
    with store.transaction() as tx:
        tx.memory.delete("large")
        raise LedgerError("a limit was exceeded")


def used(store):
    """What every part of a store is for, and what is left of it."""
    with store.transaction() as tx:
        tx.memory.put("large", LARGE)
        tx.outbox.add("peer 0", 0, LARGE)
        tx.inbox.add("peer 0", 0, LARGE)
    with pytest.raises(LedgerError):
        overdraw(store)
    with store.view() as tx:
        return tx.memory.get("large"), tx.inbox.next()


def test_a_store_in_memory_does_what_one_on_disk_does(tmp_path):
    with Store.in_memory() as inside, Store.open(tmp_path / "s", durable=False) as on_disk:
        assert used(inside) == used(on_disk)
        assert (inside.lasts, on_disk.lasts) == (False, True)
        assert repr(inside) == "Store('memory', exclusive)"


def test_stores_in_memory_share_nothing():
    with Store.in_memory() as one, Store.in_memory() as other:
        used(one)
        with other.view() as tx:
            assert tx.memory.names() == []


def test_a_store_in_memory_that_is_closed_says_so():
    store = Store.in_memory()
    store.close()
    with pytest.raises(StorageError, match="closed"), store.view():
        pass


def test_what_was_committed_without_waiting_is_there_for_the_next_process(tmp_path):
    with Store.open(tmp_path / "s", durable=False) as store:
        used(store)
    with Store.open(tmp_path / "s") as store, store.view() as tx:
        assert tx.memory.get("large") == LARGE
