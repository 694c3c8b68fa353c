"""Stores of other versions: refused, or brought up to date whole."""

import errno
import logging
import shutil
import sqlite3

import pytest

from securefair.errors import StorageError
from securefair.storage import Access, Store, schema
from securefair.storage.blobs import INLINE_BYTES

LARGE = b"x" * (INLINE_BYTES + 1)


def test_a_database_of_something_else_is_left_alone(tmp_path):
    folder = tmp_path / "other"
    folder.mkdir(mode=0o700)
    with sqlite3.connect(folder / "store.sqlite") as other:
        other.execute("CREATE TABLE patients (name TEXT)")
    other.close()
    with pytest.raises(StorageError, match="not a store"):
        Store.open(folder)


def test_a_newer_store_is_refused_by_name(tmp_path):
    Store.open(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s" / "store.sqlite") as raw:
        raw.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    raw.close()
    for access in Access:
        with pytest.raises(StorageError, match="newer version of securefair"):
            Store.open(tmp_path / "s", access=access)


def test_a_store_of_before_the_first_release_is_refused_by_name(tmp_path):
    Store.open(tmp_path / "s").close()
    with sqlite3.connect(tmp_path / "s" / "store.sqlite") as raw:
        raw.execute(f"PRAGMA user_version = {schema.FIRST - 1}")
    raw.close()
    for access in Access:
        with pytest.raises(StorageError, match=r"before 0\.2\.0 .*found 'schema 1'"):
            Store.open(tmp_path / "s", access=access)
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_an_older_store_is_migrated_and_keeps_its_rows(tmp_path, monkeypatch, caplog):
    with Store.open(tmp_path / "s") as store, store.transaction() as tx:
        tx.memory.put("machine", b"round 5")
    later = (*schema.MIGRATIONS, "CREATE TABLE later (x INTEGER);\nINSERT INTO later VALUES (1);")
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    with Store.open(tmp_path / "s", access=Access.READ) as store, store.view() as tx:
        assert tx.memory.get("machine") == b"round 5"  # as long as no step changed what is read
    monkeypatch.setattr(schema, "READABLE", schema.SCHEMA_VERSION)
    with pytest.raises(StorageError, match="older version"):
        Store.open(tmp_path / "s", access=Access.READ)
    before = []
    for _ in range(2):  # the second opening does not migrate again
        with Store.open(tmp_path / "s") as store, store.view() as tx:
            assert tx.memory.get("machine") == b"round 5"
            assert store._connection.execute("SELECT count(*) FROM later").fetchone() == (1,)
            before.append(store.before)
    assert before == [tmp_path / f"s.schema-{schema.SCHEMA_VERSION - 1}", None]
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert said == [f"this store was brought up to date; as it was: {before[0]}"]


def test_an_older_store_is_copied_whole_before_it_is_migrated(tmp_path, monkeypatch):
    with Store.open(tmp_path / "s") as store:
        assert store.before is None
        with store.transaction() as tx:
            tx.memory.put("machine", b"round 5")
            tx.memory.put("large", LARGE)
    older = schema.SCHEMA_VERSION
    later = (*schema.MIGRATIONS, "DELETE FROM memory WHERE name = 'machine';")
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    with monkeypatch.context() as patch:

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr(shutil, "copyfileobj", full)
        with pytest.raises(StorageError, match="the disk is full"):
            Store.open(tmp_path / "s")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    with Store.open(tmp_path / "s", access=Access.READ) as store, store.view() as tx:
        assert tx.memory.get("machine") == b"round 5"  # it was not migrated either
    with Store.open(tmp_path / "s") as store:
        copy = store.before
        with store.view() as tx:
            assert tx.memory.names() == ["large"]
    files = [path for path in copy.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    monkeypatch.setattr(schema, "SCHEMA_VERSION", older)
    with Store.open(copy, create=False) as store, store.view() as tx:  # as the earlier version does
        assert (tx.memory.get("machine"), tx.memory.get("large")) == (b"round 5", LARGE)


def test_a_migration_that_fails_leaves_the_old_store(tmp_path, monkeypatch):
    Store.open(tmp_path / "s").close()
    with monkeypatch.context() as patch:
        broken = (*schema.MIGRATIONS, "CREATE TABLE later (x INTEGER);\nSELECT * FROM nowhere;")
        patch.setattr(schema, "MIGRATIONS", broken)
        patch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
        with pytest.raises(StorageError, match="nowhere"):
            Store.open(tmp_path / "s")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    with Store.open(tmp_path / "s", create=False) as store, store.view() as tx:
        assert tx.memory.names() == []


@pytest.mark.parametrize("copy_stays", [False, True])
def test_what_failed_is_told_though_the_copy_cannot_be_removed(tmp_path, monkeypatch, copy_stays):
    Store.open(tmp_path / "s").close()
    broken = (*schema.MIGRATIONS, "SELECT * FROM nowhere;")
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    remove = shutil.rmtree

    def refused(path, ignore_errors=False, **_):
        if not copy_stays:
            remove(path, ignore_errors)
        elif not ignore_errors:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(shutil, "rmtree", refused)
    with pytest.raises(StorageError, match="nowhere"):
        Store.open(tmp_path / "s")
    assert len(list(tmp_path.iterdir())) == 1 + copy_stays
