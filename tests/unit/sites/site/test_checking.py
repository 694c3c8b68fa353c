"""What a site is told of its folder before it starts."""

import contextlib
import shutil

import pytest
from msgspec.structs import replace

from securefair.sites.site.checking import check_site
from securefair.sites.site.folder import read_settings, write_settings
from securefair.sites.site.format import FIRST, LATEST
from securefair.sites.site.starting import open_site
from securefair.storage import Keystore, Secret, Store, schema
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


@pytest.mark.parametrize(
    "name",
    [
        *("post peer south", "site state", "post refused", "record 000000"),
        *("machine", "site format", "generation"),
    ],
)
def test_a_damaged_record_is_told_by_check_as_by_start(place, name):
    with Store.open(place / "north" / "store") as store, store.transaction() as tx:
        tx.memory.put(name, b"\x93\xc1")
    for said in refusals_of(place, "check", "start"):
        assert f"{place / 'north' / 'store'}: the store is damaged" in said
        assert "`securefair site recover`" in said
    if name.startswith("post peer"):
        assert "is damaged" in securefair("audit", "heads", place / "north", fails=True)
        (said,) = refusals_of(place, "leave")
        assert "the store is damaged" in said


@pytest.mark.parametrize(
    "command",
    [
        ("site", "check", "PLACE"),
        ("site", "block", "PLACE", "south"),
        ("site", "leave", "PLACE", "--yes", "--seconds", 0),
        ("site", "recover", "PLACE", "--yes"),
        ("identity", "passphrase", "PLACE", "--new-passphrase-file", "OTHER"),
    ],
    ids=lambda words: words[1],
)
def test_a_store_of_an_older_schema_is_copied_and_that_is_said(place, monkeypatch, caplog, command):
    """It was migrated without a word, and there was no way back."""
    (place / "other").touch(mode=0o600)
    (place / "other").write_text("other words", encoding="ascii")
    older = schema.SCHEMA_VERSION
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE later (x);"))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", older + 1)
    known = {"PLACE": place / "north", "OTHER": place / "other"}
    secret = () if "block" in command else ("--passphrase-file", place / "passphrase")
    securefair(*(known.get(word, word) for word in command), *secret)
    copy = place / "north" / f"store.schema-{older}"
    assert f"brought up to date; as it was: {copy}" in caplog.text
    caplog.clear()
    Store.open(place / "north" / "store").close()
    assert not caplog.text
    securefair("site", "erase", place / "north", "--yes")
    assert not copy.exists()


def test_a_site_of_an_older_format_is_told_by_check_as_by_start(place, monkeypatch):
    with Store.open(place / "north" / "store") as store, store.transaction() as tx:
        tx.memory.put("site format", str(LATEST).encode())
    monkeypatch.setattr("securefair.sites.site.format.LATEST", LATEST + 1)
    for said in refusals_of(place, "check", "start"):
        assert "`securefair site upgrade` brings it up to date, and keeps a copy" in said


def test_a_site_of_before_the_first_release_is_told_by_check_as_by_start(place):
    with Store.open(place / "north" / "store") as store, store.transaction() as tx:
        tx.memory.put("site format", str(FIRST - 1).encode())
    for said in refusals_of(place, "check", "start"):
        assert "written by a version of securefair before 0.2.0" in said


def test_other_samples_are_told_by_check_as_by_start(place):
    secret = Secret(PASSPHRASE.encode())
    with open_site(place / "north", secret) as opened:
        assert opened.own
    assert list(check_site(place / "north", secret))
    table = place / "north.csv"
    table.write_text(table.read_text().replace("\n", "\n40,1,130,0\n", 1), encoding="utf-8")
    for said in refusals_of(place, "check", "start"):
        assert "are not those that this site began with" in said


@pytest.mark.parametrize("content", [b"", b"north"])
def test_without_its_keys_a_site_is_told_what_to_do(place, content):
    (place / "north" / "keys").write_bytes(content)
    for said in refusals_of(place, "check", "start", "recover"):
        assert "this is not a keystore" in said
        assert "expected 'the keys of this site'" in said
        assert "then `securefair site recover` there" in said


@pytest.mark.parametrize("content", ["", "name = "])
def test_without_its_settings_a_site_is_told_what_to_do(place, content):
    (place / "north" / "site.toml").write_text(content, encoding="utf-8")
    said = securefair("site", "status", place / "north", fails=True)
    assert "`securefair site init` into another folder writes it anew" in " ".join(said.split())


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
