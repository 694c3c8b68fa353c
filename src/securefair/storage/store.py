"""One participant's store: a folder with a database, its blobs and a lock.

    FOLDER/            mode 0700
      store.sqlite     everything small (WAL: store.sqlite-wal and -shm beside it), mode 0600
      blobs/HASH       everything large
      lock             who has it open
    FOLDER.NAME/       the same of an earlier day (`copying`)

Guarantees: a transaction is on the disk, whole, when its block has ended (`synchronous=FULL`), or
has left nothing behind. Two writers never interleave: a second transaction waits for the first,
in this process and in others.
"""

from __future__ import annotations

import contextlib
import enum
import fcntl
import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from securefair.errors import StorageError
from securefair.storage import schema
from securefair.storage.audit import AuditLog
from securefair.storage.blobs import Blobs
from securefair.storage.connection import DATABASE, connect, connect_memory, explained
from securefair.storage.copying import BLOBS, LOCK, copied
from securefair.storage.files import (
    LOST,
    PRIVATE_FILE,
    DamagedError,
    absent,
    acquire,
    private_folder,
)
from securefair.storage.memory import StoredMemory
from securefair.storage.privacy import PrivacyBudget
from securefair.storage.queues import Inbox, Outbox

_log = logging.getLogger(__name__)


class Access(enum.Enum):
    """Who else may have the store open meanwhile."""

    EXCLUSIVE = "exclusive"
    """Nobody who writes: a site, a run."""
    SHARED = "shared"
    """Others that share as well: teachers of one model in several processes."""
    READ = "read"
    """Anybody; nothing can be written: a status page."""


class Transaction:
    """The parts of a store, inside one transaction; of no use after it."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs) -> None:
        self.privacy = PrivacyBudget(connection)
        self.inbox = Inbox(connection, blobs)
        self.outbox = Outbox(connection, blobs)
        self.memory = StoredMemory(connection, blobs)
        self.audit = AuditLog(connection)


class Store:
    """An open store; `with Store.open(folder) as store`. Any thread may use it, one at a time.

    Not for a process that was forked after it was opened.

    Attributes:
        folder: its place; None: in memory.
        access: who else may have it open.
        lasts: whether another process can open it later: False in memory.
        before: a copy of it as an earlier version left it, where opening it brought it up to date.
    """

    def __init__(
        self,
        folder: Path | None,
        access: Access,
        lock: int | None,
        connection: sqlite3.Connection,
        *,
        durable: bool = True,
    ):
        self.folder = folder
        self.access = access
        self.lasts = folder is not None
        self.before: Path | None = None
        self._lock = lock
        self._closed = False
        self._connection = connection
        place = None if folder is None else folder / BLOBS
        self._blobs = Blobs(place, connection, durable=durable)
        self._turn = threading.RLock()
        self._inside = False
        self._process = os.getpid()

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        access: Access = Access.EXCLUSIVE,
        create: bool = True,
        wait_s: float = 0.0,
        durable: bool = True,
    ) -> Store:
        """Open a store, or make one.

        One that an earlier version has left is brought up to date, after a whole copy of it was
        made beside it (`before`), unless it is only read. The log names the copy, whoever opened
        it. A database that is empty or gone while other files of it are there makes no new store.

        Args:
            folder: its place; made with mode 0700 if it is missing.
            access: who else may have it open.
            create: make a store where there is none; never with `Access.READ`.
            wait_s: how long to wait for another process to close it, in seconds.
            durable: False waits for no disk: what was committed survives the end of the process,
                and not a power cut, after which the store may be damaged. For what can be computed
                again, a simulation: nobody outside has seen anything of it.

        Raises:
            StorageError: it is open elsewhere, damaged, of a newer version, missing, on a disk that
                is full or read-only, or others can enter its folder.
        """
        create = create and access is not Access.READ
        private_folder(folder, create=create)
        if not create:
            _check_there(folder)
        lock = _lock(folder, access, wait_s)
        try:
            _check_not_emptied(folder)
            connection = connect(folder, reads=access is Access.READ, durable=durable)
        except BaseException:
            os.close(lock)
            raise
        store = cls(folder, access, lock, connection, durable=durable)
        try:
            store._prepare()
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def in_memory(cls) -> Store:
        """A store that ends with this object: where nobody goes on with it later."""
        return cls(None, Access.EXCLUSIVE, None, connect_memory())

    @contextlib.contextmanager
    def transaction(self, committed: Callable[[], None] = lambda: None) -> Iterator[Transaction]:
        """All or nothing: what the block changes is on the disk when it ends, unless it raises.

        Args:
            committed: called then, before another thread of this process sees the changes.

        Raises:
            StorageError: the disk is full, the store is damaged, locked for too long, closed or
                open for reading only, or a transaction is under way in this thread.
        """
        if self.access is Access.READ:
            raise StorageError("this store is open for reading only", where=self._where)
        with self._turn_of_this_thread():
            with self._translated(), self._written():
                yield Transaction(self._connection, self._blobs)
            committed()
            if self._blobs.has_dropped:
                with self._translated(), self._written():
                    self._blobs.remove_dropped()

    @contextlib.contextmanager
    def view(self) -> Iterator[Transaction]:
        """One consistent state, to read; what the block changes is dropped."""
        with self._turn_of_this_thread(), self._translated(), self._unchanged():
            yield Transaction(self._connection, self._blobs)

    def check_whole(self) -> None:
        """See that the database can be read to its end.

        Raises:
            DamagedError: it cannot.
        """
        with self._turn_of_this_thread(), self._translated():
            [found, *_] = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise DamagedError(self.folder or Path(self._where), found)

    def close(self) -> None:
        """Close the database and let others open it; closing twice does nothing."""
        with self._turn:
            if not self._closed:
                self._closed = True
                self._connection.close()
                if self._lock is not None:
                    os.close(self._lock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """Where it is, not what is in it."""
        return f"Store({self._where!r}, {self.access.value})"

    @property
    def _where(self) -> str:
        return "memory" if self.folder is None else str(self.folder)

    def _prepare(self) -> None:
        """Check or migrate the tables, and remove what a crash has left."""
        where = self._where
        # Another process may be making or migrating it: what is read must be of one state.
        with self._turn_of_this_thread(), self._translated():
            if self.access is Access.READ:
                with self._unchanged():
                    version = schema.version_of(self._connection)
                schema.check_known(version, where)
                if version < schema.READABLE:
                    raise StorageError(
                        "this store is of an older version, and open for reading only",
                        where=where,
                        found=f"schema {version}",
                        expected=f"schema {schema.READABLE}",
                        hint="Open it once for writing: that migrates it",
                    )
                return
            try:
                with self._written():
                    version = schema.version_of(self._connection)
                    schema.check_known(version, where)
                    if not version and not self._blobs.empty:
                        raise DamagedError(self.folder or Path(where), "no tables, beside blobs")
                    if version < schema.SCHEMA_VERSION:
                        if version and self.folder is not None:
                            self.before = copied(self.folder, f"schema-{version}")
                        schema.migrate(self._connection, version)
                    self._blobs.sweep()
            except BaseException:
                if self.before is not None:  # it is as it was: the copy is of no use
                    shutil.rmtree(self.before, ignore_errors=True)
                raise
            if self.before is not None:
                _log.warning("this store was brought up to date; as it was: %s", self.before)

    @contextlib.contextmanager
    def _turn_of_this_thread(self) -> Iterator[None]:
        with self._turn:
            if self._inside:
                raise StorageError("a transaction is under way already", where=self._where)
            if self._closed:
                raise StorageError("this store is closed", where=self._where)
            if self._process != os.getpid():
                raise StorageError(
                    "this store was opened before the process was forked", where=self._where
                )
            self._inside = True
            try:
                yield
            finally:
                self._inside = False

    @contextlib.contextmanager
    def _unchanged(self) -> Iterator[None]:
        """BEGIN and ROLLBACK: all that is read is of one state."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # a full disk may have rolled back by itself
                self._connection.execute("ROLLBACK")
            self._blobs.forget_dropped()

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """BEGIN IMMEDIATE: whoever reads in order to write has the only turn to write."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._blobs.forget_dropped()
            if self._connection.in_transaction:  # a full disk may have rolled back by itself
                self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, msgspec.DecodeError) as error:  # or a record in it is damaged
            if self.folder is None:
                raise StorageError("a store in memory cannot be used", found=str(error)) from error
            raise explained(error, self.folder) from error


def _check_there(folder: Path) -> None:
    """SQLite would make an empty file into a new store."""
    database = folder / DATABASE
    if not database.exists():
        raise absent(folder)
    if not database.stat().st_size:
        raise StorageError("the file of the store is empty", where=str(database), hint=LOST)


def _check_not_emptied(folder: Path) -> None:
    """See that no new store would take the place of one whose database was lost.

    SQLite removes the log beside an empty database, and `sweep` what no row names.
    """
    log, blobs = folder / f"{DATABASE}-wal", folder / BLOBS
    # First what is beside it: another process may be making this store, its database first.
    rests = (log.exists() and log.stat().st_size) or (blobs.is_dir() and any(blobs.iterdir()))
    database = folder / DATABASE
    if rests and not (database.exists() and database.stat().st_size):
        raise DamagedError(database, "it is empty or gone, and other files of the store are not")


def running_process(folder: Path) -> int | None:
    """The process that has a store open for itself; None if there is none.

    Raises:
        StorageError: there is no store in this folder.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise absent(folder) from error
    try:
        if acquire(descriptor, fcntl.LOCK_SH, wait_s=0.0):
            return None
        owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    return int(owner) if owner.isdigit() else None


def held_since(folder: Path) -> float:
    """When a process took a store for itself last, seconds since 1970; 0 where none did.

    Whether one still has it says `running_process`.
    """
    try:
        return (folder / LOCK).lstat().st_mtime
    except OSError:
        return 0.0


def _lock(folder: Path, access: Access, wait_s: float) -> int:
    """An open file that holds the lock of this access; closing it gives the lock back."""
    try:
        flags = os.O_RDONLY if access is Access.READ else os.O_RDWR | os.O_CREAT
        descriptor = os.open(folder / LOCK, flags | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE_FILE)
    except OSError as error:
        raise StorageError(
            "the store cannot be opened", where=str(folder), found=error.strerror
        ) from error
    try:
        if access is not Access.READ:
            kind = fcntl.LOCK_EX if access is Access.EXCLUSIVE else fcntl.LOCK_SH
            if not acquire(descriptor, kind, wait_s=wait_s):
                owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                raise StorageError(
                    "another process has this store open",
                    where=str(folder),
                    found=f"process {owner}" if owner else None,
                    hint="Stop it first; two at once would answer twice",
                )
            if access is Access.EXCLUSIVE:
                os.truncate(descriptor, 0)
                os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
