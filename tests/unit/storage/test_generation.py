import shutil

import pytest

from securefair.errors import StorageError
from securefair.storage import Keystore, KeystoreCost, Secret, Store
from securefair.storage.generation import accept_older, advance, known_to


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
    with pytest.raises(StorageError, match=r"older than its keys.*opened 1 times.*what to do"):
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
