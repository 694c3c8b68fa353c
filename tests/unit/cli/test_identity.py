"""Private keys get another passphrase."""

import io
import os
import sys

import pytest
import typer

from securefair.cli import identity
from securefair.cli.identity import NEW_CREDENTIAL
from securefair.errors import StorageError
from securefair.sites.site.folder import IDENTITY, KEYS, STORE
from securefair.storage import Access, Keystore, Secret, Store

OLD, NEW = b"old horse", b"new horse"


def written(path, content):
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch):
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "north.keys"
    Keystore.create(path, Secret(OLD), secrets={IDENTITY: Secret(b"key")})
    return path


@pytest.fixture
def options(tmp_path):
    """Both passphrases in files."""
    old, new = written(tmp_path / "old", OLD), written(tmp_path / "new", NEW)
    return ("--passphrase-file", str(old), "--new-passphrase-file", str(new))


def opens(path, passphrase):
    try:
        return Keystore.open(path, Secret(passphrase)).get(IDENTITY) == Secret(b"key")
    except StorageError:
        return False


def refusal(invoke, keys, *options):
    """What is said; the file is as it was."""
    before = keys.read_bytes()
    done = invoke("identity", "passphrase", str(keys), *options)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    assert keys.read_bytes() == before
    return done.output


def test_from_files(invoke, keys, options):
    done = invoke("identity", "passphrase", str(keys), *options)
    assert done.exit_code == 0, done.output
    assert opens(keys, NEW)
    assert not opens(keys, OLD)
    for secret in (OLD, NEW):
        assert secret.decode() not in done.output


def test_from_credentials(invoke, keys, tmp_path, monkeypatch):
    """The old one alone is not taken for the new one as well."""
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "securefair-passphrase").write_bytes(OLD)
    assert NEW_CREDENTIAL in refusal(invoke, keys)
    (tmp_path / NEW_CREDENTIAL).write_bytes(NEW)
    assert invoke("identity", "passphrase", str(keys)).exit_code == 0
    assert opens(keys, NEW)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_at_a_terminal_the_new_one_is_asked_for_twice(keys, monkeypatch):
    asked = []

    def prompt(text, **how):
        asked.append((text, how["confirmation_prompt"]))
        return (NEW if text.startswith("New") else OLD).decode()

    monkeypatch.setattr(typer, "prompt", prompt)
    monkeypatch.setattr(sys, "stdin", Terminal())
    identity.change(keys, None, None)
    assert asked == [("Passphrase", False), ("New passphrase", True)]
    assert opens(keys, NEW)


def test_what_cannot_be_is_refused(invoke, keys, options, tmp_path):
    assert "no passphrase was given" in refusal(invoke, keys)
    wrong = str(written(tmp_path / "wrong", b"horse"))
    assert "does not open" in refusal(invoke, keys, "--passphrase-file", wrong, *options[2:])
    same = ("--new-passphrase-file", options[1])
    assert "is the old one" in refusal(invoke, keys, *options[:2], *same)
    empty = str(written(tmp_path / "empty", b""))
    assert "0 bytes" in refusal(invoke, keys, *options[:2], "--new-passphrase-file", empty)
    assert "not a keystore" in refusal(invoke, written(tmp_path / "x", b"x"), *options)
    missing = invoke("identity", "passphrase", str(tmp_path / "none.keys"), *options)
    assert missing.exit_code == 2
    assert "Traceback" not in missing.output


@pytest.fixture
def site(keys, tmp_path):
    """A folder with a store and these keys."""
    folder = tmp_path / "site"
    Store.open(folder / STORE).close()
    keys.rename(folder / KEYS)
    return folder


def told_of(site):
    with Store.open(site / STORE, access=Access.READ) as store, store.view() as tx:
        return [row.kind for row in tx.audit.rows()]


def test_of_a_site_that_does_not_run(invoke, site, options):
    file = site / KEYS
    with Store.open(site / STORE):
        assert "has this store open" in refusal(invoke, file, *options)
    done = invoke("identity", "passphrase", str(site), *options, "--json")
    assert done.exit_code == 0, done.output
    assert opens(file, NEW)
    assert told_of(site) == ["passphrase to be changed"]


def test_a_link_stays_one_and_leads_to_the_lock(invoke, site, options, tmp_path):
    link = tmp_path / "link.keys"
    link.symlink_to(site / KEYS)
    with Store.open(site / STORE):
        assert "has this store open" in refusal(invoke, link, *options)
    assert invoke("identity", "passphrase", str(link), *options).exit_code == 0
    assert link.is_symlink()
    assert opens(site / KEYS, NEW)
    assert not opens(site / KEYS, OLD)
    assert told_of(site) == ["passphrase to be changed"]


def test_keys_of_another_user_stay_theirs(invoke, keys, options, monkeypatch):
    """As root the file could be written, and would be root's from then on."""
    monkeypatch.setattr(os, "geteuid", lambda: keys.stat().st_uid + 1)
    assert "belongs to another user" in refusal(invoke, keys, *options)


def test_the_audit_trail_comes_before_the_change(invoke, site, options, monkeypatch):
    def full(*_, **__):
        raise StorageError("the disk is full")

    monkeypatch.setattr(Keystore, "change_passphrase", full)
    assert "the disk is full" in refusal(invoke, site / KEYS, *options)
    assert opens(site / KEYS, OLD)
    assert told_of(site) == ["passphrase to be changed"]


def test_nobody_types_a_passphrase_for_something_else(invoke, keys, site, tmp_path):
    (tmp_path / "table.csv").write_text("age\n1\n")
    said = invoke("identity", "passphrase", "table.csv").stderr
    assert "this is not a keystore" in said
    for command in (("site", "check"), ("site", "start"), ("site", "leave"), ("site", "recover")):
        said = invoke(*command, "nothing").stderr
        assert "there is no site in this folder" in said
        assert "so does `securefair site join`, once everybody has signed" in said


def test_a_fingerprint_has_all_its_digits(invoke, tmp_path):
    pw = written(tmp_path / "pw", OLD)
    invoke("identity", "new", "a", "--passphrase-file", str(pw))
    assert "expected '60 digits" in invoke("identity", "verify", "a.card", "12345").stderr
    wrong = invoke("identity", "verify", "a.card", *["12345"] * 12)
    assert "DIFFERENT" in wrong.stdout


def test_a_share_that_is_not_there_gets_no_card(invoke, tmp_path):
    done = invoke("identity", "new", "west", "--share", "unmounted")
    assert "unmounted: the shared folder is not there" in done.stderr
    assert not (tmp_path / "unmounted").exists()
    assert not (tmp_path / "west.card").exists()
