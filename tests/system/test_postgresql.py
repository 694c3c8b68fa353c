"""A real PostgreSQL: three hospitals' tables come from its queries, and nothing is written."""

import getpass
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.data import read_rows
from securefair.data.heart import heart_rows
from securefair.errors import DataError
from support.omop import CDM, EXPECTED, documented_query

pytestmark = pytest.mark.slow


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    """The URL of a fresh server; it runs as another user where the tests run as root."""
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg")
    if shutil.which("postgres") is None or shutil.which("initdb") is None:
        pytest.skip("no PostgreSQL is installed: its test did not run")
    as_user, owner = [], getpass.getuser()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no setpriv")
        found = pwd.getpwnam("nobody")
        as_user = [
            "setpriv",
            f"--reuid={found.pw_uid}",
            f"--regid={found.pw_gid}",
            "--clear-groups",
        ]
    with tempfile.TemporaryDirectory(prefix="securefair-pg-") as folder:
        if as_user:
            os.chown(folder, found.pw_uid, found.pw_gid)
        data, port = Path(folder) / "data", _free_port()
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder, "env": {
            "PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C",
        }}  # fmt: skip
        subprocess.run(
            [
                *as_user,
                "initdb",
                "-D",
                data,
                "-U",
                owner,
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
            ],
            **quiet,
        )
        control = [*as_user, "pg_ctl", "-D", data, "-w", "-l", f"{folder}/log"]
        subprocess.run([*control, "-o", f"-p {port} -h 127.0.0.1 -k {folder} -F", "start"], **quiet)
        try:
            yield f"postgresql+psycopg://{owner}@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet)


@pytest.fixture(scope="module")
def hospitals(server):
    """The heart table in the server, one table for all hospitals."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(server)
    names = ("hospital", "age", "sex", "trestbps", "num")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE visits (hospital text, age integer, sex boolean, "
            "trestbps numeric, ill text)"
        )
        connection.exec_driver_sql(
            "CREATE FUNCTION emptied() RETURNS integer LANGUAGE sql "
            "AS 'DELETE FROM visits; SELECT 1'"
        )
        for row in heart_rows():
            cells = [row.fields[name] for name in names]
            values = [None if cell in ("", "?") else cell for cell in cells]
            values[2], values[4] = values[2] == "1", "no" if values[4] == "0" else "yes"
            connection.exec_driver_sql(
                "INSERT INTO visits VALUES (%s, %s, %s, %s, %s)", tuple(values)
            )
    engine.dispose()
    return ("Cleveland", "Hungary", "Switzerland")


def query(server, hospital):
    return (
        f"{server}?query=SELECT age, sex, trestbps, ill FROM visits "
        f"WHERE hospital = '{hospital}' ORDER BY age"
    )


def test_rows_of_every_kind_come_as_cells(server, hospitals):
    table = read_rows(query(server, hospitals[0]))
    assert len(table) == sum(row.fields["hospital"] == hospitals[0] for row in heart_rows())
    assert set(table.columns["sex"].texts) == {"0", "1"}
    assert table.columns["trestbps"].numbers.min() > 50


def test_a_query_writes_nothing_even_where_it_returns_rows(server, hospitals):
    count = f"{server}?query=SELECT count(*) AS n FROM visits"
    before = read_rows(count)[0].fields["n"]
    gone = "WITH gone AS (DELETE FROM visits RETURNING 1) SELECT * FROM gone"
    for wrong, why in ((gone, "data-modifying"), ("SELECT emptied()", "read-only transaction")):
        with pytest.raises(DataError, match=why):
            read_rows(f"{server}?query={wrong}")
    assert read_rows(count)[0].fields["n"] == before


def test_a_server_that_is_not_there_is_one_line():
    pytest.importorskip("psycopg")
    with pytest.raises(DataError, match="the query failed"):
        read_rows(f"postgresql+psycopg://127.0.0.1:{_free_port()}/x?query=SELECT 1")


def test_hospitals_in_a_database_run_and_predict(server, hospitals, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke = CliRunner().invoke
    given = [part for one in hospitals for part in ("--data", f"{one}={query(server, one)}")]
    made = invoke(app, ["new", "p", *given, "--label", "ill"])
    assert made.exit_code == 0, made.output
    assert invoke(app, ["check", "p/config.toml"]).exit_code == 2  # a server is asked with --trust
    assert invoke(app, ["check", "p/config.toml", "--trust"]).exit_code == 0
    done = invoke(app, ["run", "p/config.toml", "--backend", "clear", "--out", "out"])
    assert done.exit_code == 0, done.output
    found = invoke(
        app, ["predict", "out/models/Hungary", query(server, "Hungary"), "--out", "f.csv"]
    )
    assert found.exit_code == 0, found.output
    lines = (tmp_path / "f.csv").read_text().splitlines()
    assert lines[0].startswith("probability_no,probability_yes,class")
    assert len(lines) == 1 + len(read_rows(query(server, "Hungary")))


def test_the_documented_query_of_an_omop_cdm_runs_here_too(server):
    import sqlalchemy

    engine = sqlalchemy.create_engine(server)
    with engine.begin() as connection:
        for statement in filter(str.strip, CDM.split(";")):
            connection.exec_driver_sql(statement)
    engine.dispose()
    table = read_rows(f"{server}?query={documented_query()}")
    assert [row.fields for row in table] == EXPECTED
