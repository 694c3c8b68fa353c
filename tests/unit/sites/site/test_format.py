"""Stores and models that each format left behind: a site of every one can go on, or says why not.

A new format adds its own file to tests/vectors; those of before stay as they are. Each is a site
that a release has brought to its end, with what it exported and without its keys. Format 3 is what
0.2.0 left of one round of a transfer among three, with backend `clear` and sums.
"""

import json
import sqlite3
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.errors import ConfigError, StorageError
from securefair.prediction import load_model
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.sites.operator.lifecycle import erase, upgrade
from securefair.sites.site import format as site_format
from securefair.sites.site.folder import ERASED, read_settings
from securefair.sites.site.format import FIRST, LATEST, NAME, STEPS, check_format, format_of
from securefair.sites.site.status import status_of
from securefair.storage import Store

VECTORS = Path(__file__).parents[3] / "vectors"
LEFT_BEHIND = sorted(VECTORS.glob("site-format-*.tar.xz"))


@pytest.fixture(params=LEFT_BEHIND, ids=lambda path: path.name)
def site(request, tmp_path):
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / "Cleveland"
    for private in (folder, folder / "store"):
        private.chmod(0o700)
    return folder


def test_there_is_one_of_every_format():
    assert len(LEFT_BEHIND) == LATEST - FIRST + 1


def test_it_is_brought_up_to_date_and_read(site):
    found = format_of(site / "store")
    copy = upgrade(site).copy
    with sqlite3.connect(copy / "store.sqlite") as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,)  # its tables, too
    database.close()
    assert format_of(copy) == found
    assert upgrade(site).copy is None
    status = status_of(site)
    assert (status.rounds_over, status.rounds) == (1, 1)
    assert status.peers[0].numbers > 0
    with Store.open(site / "store") as store, store.view() as tx:
        tx.audit.verify()
    model = load_model(site / "results" / "models" / "Cleveland")
    assert model.record.patients > 100


def test_its_project_goes_on(site):
    assert upgrade(site).goes_on


def test_a_project_of_an_earlier_protocol_must_be_founded_anew(site, monkeypatch):
    """As it will be once `OLDEST_PROTOCOL` has moved."""
    monkeypatch.setattr("securefair.sites.project.terms.SPOKEN", frozenset({PROTOCOL_VERSION}))
    for again in (False, True):
        done = CliRunner().invoke(app, ["site", "upgrade", str(site)])
        assert done.exit_code == 0, done.output
        said, anew = done.stdout.splitlines()
        assert said == "The site is up to date." or not again
        assert "models and records stay" in anew
        assert anew.endswith("the project must be founded anew.")
    facts = json.loads(CliRunner().invoke(app, ["site", "upgrade", str(site), "--json"]).stdout)
    assert facts == {"found": LATEST, "now": LATEST, "copy": None, "goes_on": False}


def test_an_older_one_is_migrated_and_its_copy_stays(site, monkeypatch):
    """As a next format will do it: one more step, one transaction, a copy beside."""

    def step(tx):
        tx.memory.put("new", b"1")

    found = format_of(site / "store")
    monkeypatch.setattr(site_format, "STEPS", (*STEPS, step))
    monkeypatch.setattr(site_format, "LATEST", LATEST + 1)
    monkeypatch.setattr("securefair.sites.operator.lifecycle.LATEST", LATEST + 1)
    with (
        Store.open(site / "store") as store,
        pytest.raises(StorageError, match="older version"),
        store.transaction() as tx,
    ):
        check_format(tx, "site")
    done = upgrade(site)
    assert (done.found, done.now) == (found, LATEST + 1)
    assert (done.copy / "store.sqlite").is_file()
    with Store.open(site / "store") as store, store.view() as tx:
        assert tx.memory.get("new") == b"1"
        assert tx.memory.get(NAME) == str(LATEST + 1).encode()
    erase(site, now=0.0)  # the copy holds numbers and models, too
    assert {path.name for path in site.iterdir()} <= {"site.toml", "project.toml", ERASED}
    with pytest.raises(ConfigError, match="this site was erased"):
        read_settings(site)


@pytest.mark.parametrize("older", range(1, FIRST))
def test_formats_that_no_release_wrote_are_refused_by_name(site, older):
    with Store.open(site / "store") as store, store.transaction() as tx:
        tx.memory.put(NAME, str(older).encode())
    before = sorted(path.name for path in site.iterdir())
    said = rf"before 0.2.0 .*found 'format {older}', expected 'format {FIRST} or newer'"
    with pytest.raises(StorageError, match=said):
        upgrade(site)
    with Store.open(site / "store") as store, store.view() as tx:
        with pytest.raises(StorageError, match=said):
            check_format(tx, "site")
        assert tx.memory.get(NAME) == str(older).encode()
    assert sorted(path.name for path in site.iterdir()) == before


def test_a_copy_that_is_there_stays(site):
    names = [f"store.{kind}-{one}" for kind in ("schema", "format") for one in range(1, LATEST)]
    for name in names:
        (site / name).mkdir()
    copy = upgrade(site).copy
    assert copy is None or copy.name.endswith("-2")
    assert all(not list((site / name).iterdir()) for name in names)
