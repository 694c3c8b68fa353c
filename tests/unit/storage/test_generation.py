import shutil
from threading import Thread

import pytest

from securefair.errors import StorageError
from securefair.storage import Keystore, KeystoreCost, Secret, Store
from securefair.storage.generation import Generation, accept_older, advance, known_to


@pytest.fixture
def place(tmp_path):
    keys = Keystore.create(tmp_path / "keys", Secret(b"passphrase"), cost=KeystoreCost(log2_n=2))
    yield tmp_path / "store", keys
    keys.close()


def opened(folder, keys):
    with Store.open(folder) as store:
        advance(store, keys, hint="what to do")


def test_a_store_that_goes_on_is_counted_in_both(place):
    folder, keys = place
    for times in range(1, 4):
        opened(folder, keys)
        assert known_to(keys) == times


def test_a_backup_that_was_put_back_is_noticed_before_anything_is_answered(place, tmp_path):
    folder, keys = place
    opened(folder, keys)
    shutil.copytree(folder, tmp_path / "backup")
    opened(folder, keys)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    with pytest.raises(StorageError, match=r"older than its keys.*generation 1.*what to do"):
        opened(folder, keys)


def test_a_store_that_was_deleted_is_noticed(place):
    folder, keys = place
    opened(folder, keys)
    shutil.rmtree(folder)
    with pytest.raises(StorageError, match="made anew"):
        opened(folder, keys)


def test_a_crash_between_the_two_is_no_fault(place):
    folder, keys = place
    opened(folder, keys)
    with Store.open(folder) as store:
        put, keys.put = keys.put, None
        with pytest.raises(TypeError):  # where the process ends
            advance(store, keys, hint="")
        keys.put = put
    opened(folder, keys)
    assert known_to(keys) == 3


def test_an_operator_may_accept_an_older_one(place):
    folder, keys = place
    opened(folder, keys)
    shutil.rmtree(folder)
    with Store.open(folder) as store, store.transaction() as tx:
        accept_older(tx, keys)
    opened(folder, keys)


def test_a_copy_of_an_open_store_is_older_once_something_has_left(place, tmp_path):
    folder, keys = place
    counted = Generation(keys)
    with Store.open(folder) as store:
        advance(store, keys, hint="")
        shutil.copytree(folder, tmp_path / "nightly")
        with store.transaction(counted.note) as tx:
            counted.count(tx)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "nightly", folder)
    with pytest.raises(StorageError, match="older than its keys"):
        opened(folder, keys)


def test_the_keystore_knows_before_another_thread_sees_what_was_committed(place):
    folder, keys = place
    seen = []
    with Store.open(folder) as store:
        advance(store, keys, hint="")
        counted = Generation(keys)

        def another():
            with store.view() as tx:
                seen.append((tx.memory.get("answer"), known_to(keys)))

        courier = Thread(target=another)

        def noted():
            courier.start()
            courier.join(0.1)
            assert not seen  # it waits
            counted.note()

        with store.transaction(noted) as tx:
            tx.memory.put("answer", b"numbers")
            counted.count(tx)
        courier.join()
    assert seen == [(b"numbers", 2)]


def test_what_is_not_counted_costs_no_write(place):
    folder, keys = place
    with Store.open(folder) as store:
        advance(store, keys, hint="")
        before = keys.path.stat().st_mtime_ns
        with store.transaction(Generation(keys).note) as tx:
            tx.memory.put("nothing that leaves", b"")
        assert keys.path.stat().st_mtime_ns == before


def test_a_store_in_memory_has_no_keys():
    counted = Generation()
    with Store.in_memory() as store, store.transaction(counted.note) as tx:
        counted.count(tx)
        assert tx.memory.get("generation") is None
