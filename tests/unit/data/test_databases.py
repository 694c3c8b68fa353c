"""Tables by SQL: what is read, and what a query cannot do."""

import datetime
import sqlite3

import numpy as np
import pytest

from securefair.data import read_rows
from securefair.data.databases import DatabaseQuery
from securefair.errors import DataError

ROWS = [(61, "yes", 1.5, datetime.date(2020, 1, 2)), (None, "no", 2.25, None)]


@pytest.fixture
def clinic(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "clinic.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (age INTEGER, ill VARCHAR, dose DOUBLE, day DATE)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", ROWS)
    return path


def test_a_query_of_duckdb_is_a_table(clinic):
    table = read_rows(f"duckdb:{clinic}?query=SELECT age, ill, dose, day FROM visits ORDER BY ill")
    assert [row.fields for row in table] == [
        {"age": "", "ill": "no", "dose": "2.25", "day": ""},
        {"age": "61", "ill": "yes", "dose": "1.5", "day": "2020-01-02"},
    ]
    assert table.place(1, "age") == "clinic.db, row 2, column age"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nothing FROM visits", "the query failed.*nothing"),
        ("DROP TABLE visits", "one statement that returns rows"),
        ("SELECT 1; DROP TABLE visits", "one statement that returns rows"),
        ("COPY visits TO 'stolen.csv'", "one statement that returns rows"),
        ("SELECT * FROM read_text('/etc/hostname')", "the query failed"),
        ("SELECT [1, 2] AS pair", "neither numbers nor text"),
        ("SELECT 1 AS a, 2 AS a", "columns share a name"),
    ],
)
def test_a_query_reads_this_file_and_does_nothing_else(clinic, tmp_path, sql, message):
    before = clinic.read_bytes()
    with pytest.raises(DataError, match=message):
        read_rows(f"duckdb:{clinic}?query={sql}")
    assert clinic.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["clinic.db"]


def test_what_is_no_address_is_refused(tmp_path):
    for text in ("duckdb:clinic.db", "duckdb:?query=SELECT 1", "duckdb:a.db?query= "):
        with pytest.raises(DataError, match="names no table of a database"):
            read_rows(text)
    with pytest.raises(DataError, match="no such file"):
        read_rows(f"duckdb:{tmp_path}/absent.db?query=SELECT 1")
    assert not (tmp_path / "absent.db").exists()
    for text in ("postgresql://me:secret@host/db?query=S", "postgresql://h/d?password=x&query=S"):
        with pytest.raises(DataError, match="must not hold a password") as caught:
            read_rows(text)
        assert "secret" not in str(caught.value)


def test_names_for_messages_tell_no_server():
    found = DatabaseQuery.parse(
        "postgresql+psycopg://reader@10.0.0.1/clinic?sslmode=require&query=SELECT 1"
    )
    assert found.address == "postgresql+psycopg://reader@10.0.0.1/clinic?sslmode=require"
    assert found.name == "query of clinic"


class TestAnyUrl:
    """SQLAlchemy, with the driver that Python brings."""

    @pytest.fixture
    def url(self, tmp_path):
        pytest.importorskip("sqlalchemy")
        connection = sqlite3.connect(tmp_path / "clinic.sqlite")
        connection.execute("CREATE TABLE visits (age INTEGER, ill TEXT, dose REAL, day TEXT)")
        connection.executemany(
            "INSERT INTO visits VALUES (?, ?, ?, ?)", [(*row[:3], "") for row in ROWS]
        )
        connection.commit()
        connection.close()
        return f"sqlite:///{tmp_path}/clinic.sqlite"

    def test_its_rows_are_a_table(self, url):
        table = read_rows(f"{url}?query=SELECT age, dose, ill FROM visits ORDER BY ill DESC")
        assert table.columns["age"].texts == ["61", ""]
        assert np.array_equal(table.columns["dose"].numbers, [1.5, 2.25])

    @pytest.mark.parametrize(
        ("sql", "message"),
        [
            ("DELETE FROM visits", "one statement that returns rows"),
            ("SELECT absent FROM visits", "the query failed.*no such column"),
            ("SELECT 1 UNION SELECT 'x'", "values of several kinds"),
        ],
    )
    def test_what_returns_no_table_is_refused(self, url, sql, message):
        with pytest.raises(DataError, match=message):
            read_rows(f"{url}?query={sql}")
        assert len(read_rows(f"{url}?query=SELECT ill FROM visits")) == 2

    def test_a_driver_that_is_not_there_is_named(self):
        pytest.importorskip("sqlalchemy")
        with pytest.raises(DataError, match="query of d"):
            read_rows("nonsense://h/d?query=SELECT 1")
