"""A new store that several processes open at the same moment."""

import contextlib
import sqlite3

import msgspec
import pytest

from securefair.errors import StorageError
from securefair.storage import Access, Store, schema
from securefair.storage import connection as connection_module
from securefair.storage import store as store_module
from securefair.storage.blobs import INLINE_BYTES
from securefair.storage.connection import DATABASE
from securefair.storage.files import DamagedError


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


def emptied(database):
    database.write_bytes(b"")


def without_tables(database):
    database.unlink()
    with contextlib.closing(sqlite3.connect(database)) as other:
        other.execute("PRAGMA journal_mode = WAL")


def without_index_rows(database):
    """SQLite answers from the index, which names no file any more."""
    with contextlib.closing(sqlite3.connect(database)) as other:
        other.execute("PRAGMA writable_schema = ON")
        other.execute("CREATE INDEX hollow ON memory (blob) WHERE blob = ''")
        (root,) = other.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'hollow'"
        ).fetchone()
        other.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'memory_blob'", (root,))
        other.execute("DELETE FROM sqlite_master WHERE name = 'hollow'")
        other.commit()


@pytest.mark.parametrize(
    "damage",
    [emptied, lambda database: database.unlink(), without_tables, without_index_rows],
    ids=["empty", "gone", "tables", "index"],
)
def test_large_values_outlive_their_database(tmp_path, damage):
    """They were swept from beside the new database that took its place."""
    with Store.open(tmp_path / "s") as store, store.transaction() as tx:
        tx.memory.put("large", b"x" * (INLINE_BYTES + 1))
    database = tmp_path / "s" / DATABASE
    damage(database)
    there = database.exists()
    with pytest.raises(DamagedError):
        Store.open(tmp_path / "s")
    assert database.exists() == there
    assert len(list((tmp_path / "s" / "blobs").iterdir())) == 1


def test_the_log_of_a_lost_database_is_kept(tmp_path):
    Store.open(tmp_path / "s").close()
    database = tmp_path / "s" / DATABASE
    database.write_bytes(b"")
    log = database.with_name(f"{DATABASE}-wal")
    log.write_bytes(b"rows")
    with pytest.raises(DamagedError):
        Store.open(tmp_path / "s")
    assert log.read_bytes() == b"rows"
