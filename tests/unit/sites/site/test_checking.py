"""What a site is told of its folder before it starts."""

import contextlib
import shutil

import pytest
from msgspec.structs import replace

from securefair.sites.site.folder import read_settings, write_settings
from securefair.storage import Keystore, Secret, Store
from securefair.storage.generation import advance
from support.operators import PASSPHRASE, SETTINGS, found, securefair


@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_that_nothing_is_encrypted_is_said_before_a_start(swift_folder, backend):
    settings = f'{SETTINGS}[encryption]\nbackend = "{backend}"\n'
    found(swift_folder, settings=settings, wishes=("--algorithm", "transfer"))
    secret = swift_folder / "passphrase"
    said = securefair("site", "check", swift_folder / "north", "--passphrase-file", secret)
    said, clear = " ".join(said.split()), backend == "clear"
    assert ("1; NOTHING IS ENCRYPTED (encryption.backend = clear), " in said) == clear
    assert ("WARNING: Backend clear encrypts nothing: every peer that is asked" in said) == clear


@pytest.fixture
def place(swift_folder):
    found(swift_folder, wishes=("--algorithm", "transfer"))
    return swift_folder


def refusals_of(place, *commands):
    secret = ("--passphrase-file", place / "passphrase")
    more = {
        "leave": ("--yes", "--seconds", 0),
        "export": (place / "out",),
        "renew": ("--data", place / "south.csv"),
    }
    for command in commands:
        said = securefair(
            "site", command, place / "north", *more.get(command, ()), *secret, fails=True
        )
        yield " ".join(said.split())


@pytest.mark.parametrize("name", ["post peer south", "site state", "post refused", "record 000000"])
def test_a_damaged_record_is_told_by_check_as_by_start(place, name):
    with Store.open(place / "north" / "store") as store, store.transaction() as tx:
        tx.memory.put(name, b"\x93\xc1")
    for said in refusals_of(place, "check", "start"):
        assert "the store cannot be used" in said
        assert "Restore the folder from a backup" in said
    if name.startswith("post peer"):
        assert "cannot be used" in securefair("audit", "heads", place / "north", fails=True)
        (said,) = refusals_of(place, "leave")
        assert "the store cannot be used" in said


def test_nothing_makes_a_store_where_one_is_lost(place):
    store = place / "north" / "store"
    shutil.rmtree(store)
    for said in refusals_of(place, "check", "start", "leave", "export", "renew"):
        assert "there is no store in this folder" in said
    said = securefair("site", "block", place / "north", "south", fails=True)
    assert "there is no store in this folder" in " ".join(said.split())
    assert not store.exists()


def test_check_sees_that_a_store_is_older_than_its_keys(place):
    site = place / "north"
    keys = Keystore.open(site / "keys", Secret(PASSPHRASE.encode()))
    with contextlib.closing(keys), Store.open(site / "store") as store:
        advance(store, keys, hint="")
    shutil.rmtree(site / "store")
    Store.open(site / "store").close()
    (said,) = refusals_of(place, "check")
    assert "this store is older than its keys" in said


def test_settings_name_no_path_with_a_nul_character(place):
    settings = read_settings(place / "north")
    for changed in ({"data": "/x/no\0rth.csv"}, {"told": "\0"}):
        write_settings(place / "north", replace(settings, **changed))
        said = securefair("site", "status", place / "north", fails=True)
        assert "no path has a NUL character" in " ".join(said.split())
