"""What a site is told of its folder before it starts."""

import contextlib
import logging
import shutil
from urllib.request import urlopen

import pytest
from msgspec.structs import replace

from securefair.config import TableSection
from securefair.config.columns import NumericColumn
from securefair.data.findings import Finding
from securefair.data.rows import parse_rows
from securefair.errors import DataError
from securefair.sites.operator.page import served
from securefair.sites.site import checking
from securefair.sites.site.checking import check_site
from securefair.sites.site.folder import read_settings, write_settings
from securefair.sites.site.format import FIRST, LATEST
from securefair.sites.site.samples import unquoted
from securefair.sites.site.starting import open_site
from securefair.storage import Keystore, Secret, Store, schema
from securefair.storage.generation import advance
from securefair.user.units import refuse_other_unit
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


CELL = "Erika Mustermann *1931-05-02"


def spoil(table, cell=CELL):
    """Another cell in the place of the third patient's age."""
    lines = table.read_text(encoding="utf-8").splitlines()
    lines[3] = ",".join([cell, *lines[3].split(",")[1:]])
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shown_of(place):
    """All that an operator, a page or Prometheus sees of a site that does not run."""
    with served(place / "north") as server:
        for what in ("", "metrics"):
            yield urlopen(f"{server.address}{what}").read().decode()  # its own
    yield securefair("site", "status", place / "north", "--json")


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_cell_of_a_patient_is_in_no_log(place, more):
    """The journal of a unit is read by many, kept, and sent on."""
    spoil(place / "north.csv")
    start = ("site", "start", place / "north", "--passphrase-file", place / "passphrase")
    said = securefair(*start, *more, fails=True)
    assert "line 4, column age: not a number" in said
    assert "`securefair site check` shows it" in said
    assert not any("Erika" in one for one in (said, *shown_of(place)))
    (shown,) = refusals_of(place, "check")
    assert f"found '{CELL}'" in shown


def test_a_cell_of_patients_to_come_is_in_no_log(place):
    secret = ("--passphrase-file", place / "passphrase")
    with open_site(place / "north", Secret(PASSPHRASE.encode())) as opened:
        assert opened.own  # it has begun with its first patients
    table = shutil.copy(place / "south.csv", place / "later.csv")
    securefair("site", "renew", place / "north", "--data", table, *secret)
    spoil(table)
    said = securefair("site", "start", place / "north", *secret, fails=True)
    assert "later.csv, line 4, column age: not a number" in said
    assert not any("Erika" in one for one in (said, *shown_of(place)))
    (shown,) = refusals_of(place, "check")
    assert f"found '{CELL}'" in shown


def test_what_to_look_at_in_the_table_is_in_no_log(place, monkeypatch):
    odd = Finding(
        site="north", column="age", line=4, kind="stray", message=f"{CELL} is odd", remedy="Look"
    )
    monkeypatch.setattr(checking, "own_findings", lambda *_: [odd, replace(odd, column=None)])
    secret = Secret(PASSPHRASE.encode())
    quiet = "\n".join(check_site(place / "north", secret, quoting=False))
    assert "WARNING: column age, line 4: stray; `securefair site check` shows it" in quiet
    assert "WARNING: line 4: stray; `securefair site check` shows it" in quiet
    assert "Erika" not in quiet
    assert CELL in "\n".join(check_site(place / "north", secret))


def test_warnings_of_ranges_are_in_no_log(caplog):
    log = logging.getLogger("securefair.data.arrays")
    with unquoted():
        log.warning("values 17 to 18")
    assert not caplog.records
    log.warning("values 17 to 18")
    assert len(caplog.records) == 1


def test_half_of_the_values_are_in_no_log():
    """Quartiles are values of patients."""
    table = parse_rows(["height\n", *(f"{150 + at}\n" for at in range(40))], "t")
    section = TableSection(label="ill", columns=(NumericColumn(name="height", low=1.2, high=2.2),))
    with pytest.raises(DataError, match="another unit") as refused, unquoted():
        refuse_other_unit("north", table, section)
    assert refused.value.found is None
