"""A new store that several processes open at the same moment."""

import contextlib
import sqlite3

import msgspec
import pytest

from securefair.errors import StorageError
from securefair.storage import Access, Store, schema
from securefair.storage import connection as connection_module
from securefair.storage import store as store_module
from securefair.storage.connection import DATABASE


@pytest.mark.parametrize("access", [Access.EXCLUSIVE, Access.SHARED])
def test_a_store_that_another_process_makes_meanwhile_is_no_foreign_database(
    tmp_path, monkeypatch, access
):
    """Its version and its tables are read as of one moment."""
    connect = store_module.connect

    def made_meanwhile(statement):
        if "sqlite_master" not in statement:
            return
        other = sqlite3.connect(tmp_path / "s" / DATABASE, timeout=0, isolation_level=None)
        with contextlib.suppress(sqlite3.OperationalError):  # locked: it has to wait
            other.execute("BEGIN IMMEDIATE")
            schema.migrate(other, schema.version_of(other))
            other.execute("COMMIT")
        other.close()

    def watched(folder, **how):
        connection = connect(folder, **how)
        connection.set_trace_callback(made_meanwhile)
        return connection

    monkeypatch.setattr(store_module, "connect", watched)
    with Store.open(tmp_path / "s", access=access) as store, store.view() as tx:
        assert tx.memory.names() == []


@pytest.fixture
def refusals(monkeypatch):
    """Connections whose log cannot be changed so many times, as where another one changes it."""
    left, plain = [0], sqlite3.connect

    class Busy(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if "journal_mode" in statement and left[0]:
                left[0] -= 1
                raise sqlite3.OperationalError("database is locked")
            return super().execute(statement, *arguments)

    def connect(*arguments, **keywords):
        return plain(*arguments, **keywords, factory=Busy)

    monkeypatch.setattr(connection_module.sqlite3, "connect", connect)
    return left


def test_a_log_that_another_process_changes_is_waited_for(tmp_path, refusals):
    """SQLite refuses that at once, whatever its timeout is."""
    refusals[0] = 3
    with Store.open(tmp_path / "s", access=Access.SHARED) as store, store.view() as tx:
        assert tx.memory.names() == []
    assert refusals == [0]


def test_it_is_not_waited_for_without_end(tmp_path, refusals, monkeypatch):
    refusals[0] = 1 << 30
    monkeypatch.setattr(connection_module, "PATIENCE_S", 0.05)
    with pytest.raises(StorageError, match="Another process holds it"):
        Store.open(tmp_path / "s")


@pytest.mark.parametrize("wishes", [{"access": Access.READ}, {"create": False}], ids=str)
def test_an_empty_file_is_no_store_of_an_older_version(tmp_path, wishes):
    Store.open(tmp_path).close()
    (tmp_path / "store.sqlite").write_bytes(b"")
    with pytest.raises(StorageError, match="the file of the store is empty"):
        Store.open(tmp_path, **wishes)
    assert not (tmp_path / "store.sqlite").read_bytes()


def test_a_record_that_cannot_be_read_says_that_the_store_is_damaged(tmp_path):
    with Store.open(tmp_path) as store:
        for block in (store.view, store.transaction):
            with pytest.raises(StorageError, match=r"the store is damaged .*site recover"), block():
                msgspec.msgpack.decode(b"\xc1")
