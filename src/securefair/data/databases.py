"""Tables from databases: a query's rows as text cells, as of any file.

    duckdb:clinic.db?query=SELECT age, sex, ill FROM visits
    postgresql+psycopg://reader@server/clinic?query=SELECT age, sex, ill FROM visits

What stands behind `query=` is SQL as it is, to the end. A DuckDB file is opened to be read, and the
query can reach nothing but that file: no other file, no extension, no network. Any other address is
SQLAlchemy's, with its driver installed; its query runs in a transaction that is rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from securefair.data.arrow_tables import from_arrow
from securefair.data.cells import Table
from securefair.errors import DataError

DUCKDB = "duckdb:"
_QUERY = re.compile(r"^(?P<address>[^?]+?)(?P<options>\?[^?]*?)?[?&]query=(?P<sql>.*)$", re.DOTALL)
_ELSEWHERE = re.compile(r"(https?|ftps?|sftp|s3|gs|az|file)://", re.IGNORECASE)
_PASSWORD = re.compile(r"^[\w+]+://[^/@]*:[^/@]+@|[?&]password=", re.IGNORECASE)
AT_ONCE = 10_000
"""Rows that a server sends at a time."""


@dataclass(frozen=True)
class DatabaseQuery:
    """Where a database is, and what is asked of it.

    Attributes:
        address: "duckdb:" and a path, or a URL of SQLAlchemy without the query.
        sql: one statement that returns rows.
    """

    address: str
    sql: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take an address apart.

        Raises:
            DataError: it is none, or holds a password, which would be written into every record.
        """
        if elsewhere := _ELSEWHERE.match(text.strip()):
            local = elsewhere[1].lower() == "file"
            raise DataError(
                "a table is read from a file of this machine, or from a database",
                where=text[:60],
                hint="Give its path without file://" if local else "Download it, and give its path",
            )
        found = _QUERY.match(text.strip())
        if found is None or not found["sql"].strip() or found["address"] == DUCKDB:
            raise DataError(
                "this names no table of a database",
                where=text[:60],
                expected="duckdb:FILE?query=SELECT ..., or URL?query=SELECT ...",
            )
        address = found["address"] + (found["options"] or "")
        if _PASSWORD.search(address):
            raise DataError(
                "an address of a database must not hold a password",
                where=f"{address.partition(':')[0]} database",
                hint="Leave it to the driver: PostgreSQL reads it from ~/.pgpass or PGPASSWORD",
            )
        return cls(address, found["sql"].strip())

    @property
    def name(self) -> str:
        """A short name for messages, without user and server."""
        if self.address.startswith(DUCKDB):
            return Path(self.address.removeprefix(DUCKDB)).name
        return f"query of {self.address.rpartition('/')[2].partition('?')[0] or 'a database'}"


def is_query(text: str) -> bool:
    """Whether a text names a database rather than a file."""
    return text.startswith(DUCKDB) or "://" in text.partition("?")[0]


def read_query(text: str, missing: Collection[str] = ()) -> Table:
    """The rows of a query; `missing` as of `decimal_commas.table_of_columns`.

    Raises:
        DataError: the library is not installed, the database cannot be read, the query is none that
            returns rows, or a column holds something that no rule of a table reads.
    """
    query = DatabaseQuery.parse(text)
    table = _duckdb(query) if query.address.startswith(DUCKDB) else _sqlalchemy(query)
    return from_arrow(table, source=query.name, missing=missing)


def _duckdb(query: DatabaseQuery) -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise _absent("duckdb", query, "pip install 'securefair[duckdb]'") from error
    path = Path(query.address.removeprefix(DUCKDB))
    if not path.is_file():
        raise DataError("cannot read the table", where=str(path), found="no such file")
    locked: dict[str, Any] = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
    }
    try:
        with duckdb.connect(str(path), read_only=True, config=locked) as connection:
            connection.execute("SET lock_configuration = true")
            statements = connection.extract_statements(query.sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise _no_select(query)
            return connection.sql(query.sql).to_arrow_table()
    except duckdb.Error as error:
        raise _failed(query, error) from error


def _sqlalchemy(query: DatabaseQuery) -> Any:
    try:
        import sqlalchemy
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    except ImportError as error:
        raise _absent("sqlalchemy", query, "pip install 'securefair[sql]'") from error
    if not re.match(r"\(*\s*(select|with|values|table)\b", query.sql, re.IGNORECASE):
        raise _no_select(query)
    try:
        engine = sqlalchemy.create_engine(query.address)
    except (ArgumentError, NoSuchModuleError) as error:
        raise _failed(query, error) from error
    except ImportError as error:
        raise _absent(str(error.name), query, f"pip install {error.name}") from error
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(postgresql_readonly=True)
    try:
        with engine.connect() as connection:
            result = connection.execution_options(yield_per=AT_ONCE).exec_driver_sql(query.sql)
            names = list(result.keys())
            parts = [_columns(rows, len(names)) for rows in result.partitions()]
            connection.rollback()
    except (SQLAlchemyError, TypeError, UnicodeError) as error:  # drivers raise these on odd text
        raise _failed(query, error) from error
    finally:
        engine.dispose()
    try:
        arrays = [
            pa.array([value for part in parts for value in part[at]]) for at in range(len(names))
        ]
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(
            "a column of the query holds values of several kinds",
            where=query.name,
            found=str(error),
            hint="Cast it in the query",
        ) from error
    # Names may repeat; `from_arrow` says which.
    return pa.Table.from_arrays(arrays, names=names)


def _columns(rows: Any, width: int) -> list[list[Any]]:
    return [[row[at] for row in rows] for at in range(width)]


def _absent(library: str, query: DatabaseQuery, hint: str) -> DataError:
    return DataError(f"{library} is not installed", where=query.name, hint=hint)


def _no_select(query: DatabaseQuery) -> DataError:
    return DataError(
        "a query must be one statement that returns rows",
        where=query.name,
        found=query.sql[:60],
        expected="SELECT ...",
    )


def _failed(query: DatabaseQuery, error: Exception) -> DataError:
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return DataError("the query failed", where=query.name, found=lines[0] if lines else "no reason")
