"""The tables of a store, and how an older store becomes a newer one.

`MIGRATIONS[0]` makes the tables of the first release in an empty file, and each of the others turns
a store into one of the next version; a new store takes all of them. A released step is never
edited: what changes later is another step.
"""

from __future__ import annotations

import sqlite3

from securefair.errors import StorageError

APPLICATION_ID = 0x5346_5354
"""Of SQLite's header ("SFST"): tells a store from any other SQLite file."""

FIRST = 2
"""The version of stores of the first release, 0.2.0; nothing leads here from the one before."""

MIGRATIONS: tuple[str, ...] = (
    """
    -- What happened to the privacy of patients; what it amounts to is composed from these rows.
    CREATE TABLE privacy (
        position  INTEGER PRIMARY KEY AUTOINCREMENT,
        budget    TEXT NOT NULL,    -- whose patients
        reference TEXT NOT NULL,    -- names the event: the same one is charged once
        mechanism TEXT NOT NULL,
        epsilon   REAL NOT NULL CHECK (epsilon >= 0),
        delta     REAL NOT NULL CHECK (delta >= 0),
        details   BLOB NOT NULL,    -- for an accountant: JSON
        UNIQUE (budget, reference)
    );

    -- Envelopes that arrived and were not handled yet, and those that were not acknowledged yet.
    CREATE TABLE inbox (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        stream   TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        payload  BLOB,              -- either the bytes,
        blob     TEXT,              -- or the hash of the file that holds them
        UNIQUE (stream, sequence)
    );
    CREATE TABLE outbox (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        stream   TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        payload  BLOB,
        blob     TEXT,
        UNIQUE (stream, sequence)
    );
    -- The next sequence number of every stream, in each direction.
    CREATE TABLE streams (
        direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
        stream    TEXT NOT NULL,
        next      INTEGER NOT NULL CHECK (next >= 0),
        PRIMARY KEY (direction, stream)
    ) WITHOUT ROWID;

    -- What arrived under each number: tells a repetition from a sender turned back to a backup.
    CREATE TABLE received (
        stream   TEXT NOT NULL,
        sequence INTEGER NOT NULL,
        hash     BLOB NOT NULL,
        PRIMARY KEY (stream, sequence)
    ) WITHOUT ROWID;

    -- Everything else that a participant knows between two inputs.
    CREATE TABLE memory (
        name    TEXT PRIMARY KEY,
        payload BLOB,
        blob    TEXT
    ) WITHOUT ROWID;

    -- What happened, each row bound to all before it.
    CREATE TABLE audit (
        position INTEGER PRIMARY KEY,
        at       TEXT NOT NULL,
        kind     TEXT NOT NULL,
        facts    BLOB NOT NULL,
        hash     BLOB NOT NULL
    );
    CREATE INDEX inbox_blob ON inbox (blob) WHERE blob IS NOT NULL;
    CREATE INDEX outbox_blob ON outbox (blob) WHERE blob IS NOT NULL;
    CREATE INDEX memory_blob ON memory (blob) WHERE blob IS NOT NULL;
    """,
    """
    -- What its sender calls an envelope, and what tells its content from that of others.
    ALTER TABLE outbox ADD COLUMN kind TEXT NOT NULL DEFAULT '';
    ALTER TABLE outbox ADD COLUMN mark BLOB;
    CREATE INDEX outbox_mark ON outbox (stream, mark) WHERE mark IS NOT NULL;
    """,
    """
    -- Of each stream the newest envelopes are remembered, no longer all.
    DELETE FROM received WHERE EXISTS (
        SELECT 1 FROM streams WHERE streams.direction = 'in'
        AND streams.stream = received.stream AND received.sequence < streams.next - 256
    );
    """,
)

SCHEMA_VERSION = FIRST - 1 + len(MIGRATIONS)

READABLE = 2
"""The oldest version that can be read as it is: steps after it added what an outbox is asked as
something is sent, and took away of what an inbox is asked as something arrives. None of that is
read without being written."""


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of an open store; 0 for an empty file.

    Raises:
        StorageError: the file is a database of something else.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (version or tables):
        raise StorageError("this database is not a store of securefair")
    return int(version)


def check_known(version: int, where: str) -> None:
    """Refuse a store that a later securefair has written, or one of before the first release.

    Raises:
        StorageError: the version is newer or older than this program knows.
    """
    if version > SCHEMA_VERSION:
        raise StorageError(
            "this store was written by a newer version of securefair",
            where=where,
            found=f"schema {version}",
            expected=f"schema {SCHEMA_VERSION} or older",
            hint="Use the newer version, or another folder; nothing was changed",
        )
    if 0 < version < FIRST:
        raise StorageError(
            "this store was written by a version of securefair before 0.2.0",
            where=where,
            found=f"schema {version}",
            expected=f"schema {FIRST} or newer",
            hint="Use the version that wrote it, or another folder; nothing was changed",
        )


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables from `version`, 0 for an empty file, to the current one, inside the caller's
    transaction.
    """
    for step in MIGRATIONS[max(0, version - FIRST + 1) :]:
        for statement in _statements(step):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _statements(script: str) -> list[str]:
    """Single statements: sqlite3's executescript would commit the caller's transaction."""
    statements, current = [], ""
    for line in script.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
