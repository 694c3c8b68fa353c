"""What a site's store counts, and stores that are full, put back or recovered."""

import shutil
from itertools import count

import pytest

from securefair.errors import StorageError
from securefair.sites.site.notes import told_in
from securefair.sites.site.records import learned_from
from securefair.sites.site.recovery import recover_store
from securefair.storage import Keystore, KeystoreCost, Secret

pytestmark = pytest.mark.slow

NOW = 1_800_000_000


def test_numbers_in_ledger_and_notes_are_those_that_were_opened(make_town):
    town = make_town(3, rounds=5)
    town.live()
    for teacher in town.names:
        with town.stores[teacher].view() as tx:
            told = told_in(tx)
        accounts = town.sites[teacher]._host.machine.ledger.accounts
        assert told == {name: one.total for name, one in accounts.items() if one.total}
        for student in town.names:
            if student != teacher:
                opened = [r for r in town.records(student) if teacher in r.opened]
                assert told[student] == len(opened) * 8 * 2  # q numbers of each class


def test_a_full_disk_ends_a_site_with_a_sentence_and_loses_nothing(make_town, check_same):
    town = make_town(2, rounds=3)

    class FullStore(type(town.sites["north"]._feeder._store)):
        def transaction(self, *_):
            raise StorageError("the disk is full", where="store")

    for _ in range(5):
        for name in town.names:
            town.sites[name].turn()
            town.walk(name)
    site = town.sites["north"]
    working = site._feeder._store
    site._feeder._store = FullStore(working.store, working.kills)
    with pytest.raises(StorageError, match="disk is full"):
        town.until("north", 3)
    town.kill("north")
    town.live()
    check_same(town)


def backup(town, name):
    town.stores[name].close()
    shutil.copytree(town.folder / name, town.folder / "backup")
    town.start(name)


def put_back(town, name):
    town.stores[name].close()
    shutil.rmtree(town.folder / name)
    shutil.copytree(town.folder / "backup", town.folder / name)
    town.start(name)


@pytest.fixture
def keystore(tmp_path):
    cost = KeystoreCost(log2_n=2)
    keys = Keystore.create(tmp_path / "keys", Secret(b"passphrase"), cost=cost)
    yield keys
    keys.close()


def test_a_copy_of_a_running_site_is_refused_once_that_site_has_answered(make_town, keystore):
    """The attack: last night's copy of `store/` has yet to count what was disclosed since."""
    town = make_town(3, rounds=12)
    town.keystores["north"] = keystore
    town.kill("north")
    town.until("north", 3)
    copy = town.folder / "nightly"
    shutil.copytree(town.folder / "north", copy)  # it runs
    before = town.numbers("north")
    town.until("north", 4)
    assert town.numbers("north") != before  # which the copy does not count
    town.stores["north"].close()
    shutil.rmtree(town.folder / "north")
    shutil.copytree(copy, town.folder / "north")
    with pytest.raises(StorageError, match=r"older than its keys.*site recover"):
        town.start("north")


def test_a_process_that_ends_before_its_keystore_hears_of_a_commit_goes_on(
    make_town, keystore, check_same
):
    town = make_town(2, rounds=4)
    town.keystores["north"] = keystore
    town.kill("north")
    commits = count()
    town.kills["north"] = lambda: "after" if next(commits) % 9 == 5 else ""
    town.kill("north")
    town.live()
    assert town.restarts > 2
    check_same(town)


def test_a_backup_that_is_put_back_stops_its_site_and_a_recovery_answers_nobody(make_town):
    town = make_town(3, rounds=12)
    town.until("north", 3)
    backup(town, "north")
    town.until("north", 5)
    told = town.numbers("north")
    put_back(town, "north")
    with pytest.raises(StorageError, match="not what its peers remember"):
        town.until("north", 6)
    assert any("turned back, north" in town.refused(peer) for peer in ("south", "west"))
    town.posts["north"].fault = None
    with town.stores["north"].transaction() as tx:
        left = recover_store(tx, ("south", "west"), NOW + town.now, town.rounds, 2 * NOW)
    assert left.round == 2
    del town.keys["north"]  # the keys as a student are made anew
    town.kill("north")
    town.live()
    records = town.records("north")
    assert records[-1].round == 11
    forced = [record for record in records if record.round in (6, 9)]
    assert any(record.opened for record in forced)  # it learns
    for peer in ("south", "west"):
        later = [record for record in town.records(peer) if record.round >= 7]
        assert all("north" not in record.opened for record in later)  # and answers nobody
    assert town.numbers("north") <= told


def test_a_teacher_asks_nobody_and_a_student_answers_nobody(make_town):
    town = make_town(4, algorithm="transfer", roles={"north": "teacher", "south": "student"})
    town.live()
    assert town.records("north")[0].combined == ()
    assert town.records("south")[0].combined == ("east", "north", "west")
    assert learned_from(town.records("north")) == ()
    assert learned_from(town.records("south")) == ("east", "north", "west")
    for peer in ("west", "east"):
        assert "north" in town.records(peer)[0].combined
        assert "south" not in town.records(peer)[0].combined
    assert town.numbers("south") == 0
    with town.stores["north"].view() as tx:
        assert tx.memory.get("host request") is None  # no patient of it was ever encrypted
