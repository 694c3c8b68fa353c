"""Hospitals whose tables are queries: from `new` to a prediction."""

import csv
import sqlite3
from contextlib import closing

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.config import load_config, parse_config
from securefair.errors import ConfigError, DataError
from securefair.user.template import new_project

pytestmark = pytest.mark.slow


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.db") as connection:
        connection.execute("CREATE TABLE visits (site VARCHAR, age INTEGER, ill VARCHAR)")
        rows = [
            (site, 20 + (6 * i) % 60, "yes" if (6 * i) % 60 > 30 else "no")
            for site in ("north", "south")
            for i in range(40)
        ]
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    return tmp_path


def query(site):
    return f"duckdb:clinic.db?query=SELECT age, ill FROM visits WHERE site = '{site}' ORDER BY age"


def test_from_a_database_to_a_prediction(clinic):
    given = [part for one in ("north", "south") for part in ("--data", f"{one}={query(one)}")]
    invoke = CliRunner().invoke
    made = invoke(app, ["new", "deep/p", *given, "--label", "ill"])
    assert made.exit_code == 0, made.output
    people = load_config(clinic / "deep/p/config.toml").participants
    assert people[0].data.startswith(f"duckdb:{clinic}/deep/p/../../clinic.db?query=SELECT")
    assert invoke(app, ["check", "deep/p/config.toml"]).exit_code == 0  # a file needs no --trust
    done = invoke(app, ["run", "deep/p/config.toml", "--backend", "clear", "--out", "out"])
    assert done.exit_code == 0, done.output
    new = "duckdb:clinic.db?query=SELECT 25 AS age UNION ALL SELECT 75"
    found = invoke(app, ["predict", "out/models/north", new, "--out", "f.csv"])
    assert found.exit_code == 0, found.output
    rows = list(csv.DictReader((clinic / "f.csv").read_text().splitlines()))
    assert [row["class"] for row in rows] == ["no", "yes"]
    scored = invoke(app, ["evaluate", "out/models/south", query("north")])
    assert scored.exit_code == 0, scored.output


def test_the_check_of_a_servers_tables_is_printed_as_it_works(tmp_path, monkeypatch):
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("clinic.sqlite")) as connection:
        connection.execute("CREATE TABLE visits (age INTEGER, ill TEXT)")
        rows = [(20 + 6 * at % 60, "yes" if 6 * at % 60 > 30 else "no") for at in range(40)]
        connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
        connection.commit()
    asked = f"sqlite:///{tmp_path}/clinic.sqlite?query=SELECT age + {{}} AS age, ill FROM visits"
    given = [f"--data=north={asked.format(0)}", f"--data=south={asked.format(1)}"]
    invoke = CliRunner().invoke
    made = invoke(app, ["new", "p", *given, "--label", "ill"])
    assert made.exit_code == 0, made.output
    (line,) = [one for one in made.output.splitlines() if "securefair check" in one]
    assert line == "  securefair check p/config.toml --trust"
    checked = invoke(app, line.split()[1:])
    assert checked.exit_code == 0, checked.output


def test_mixtures_and_mistakes(clinic):
    (clinic / "south.csv").write_text("age,ill\n" + "20,no\n70,yes\n" * 10)
    tables = (f"north={query('north')}", "south.csv")
    project = new_project(clinic / "mixed", tables=tables, label="ill")
    assert project.files == ["config.toml"]
    with pytest.raises(ConfigError, match="a query needs a name"):
        new_project(clinic / "a", tables=(query("north"), "south.csv"), label="ill")
    with pytest.raises(DataError, match=r"participant north.*the query failed"):
        new_project(
            clinic / "b",
            tables=("north=duckdb:clinic.db?query=SELECT x", "south.csv"),
            label="ill",
        )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('data = "clinic.db"', "duckdb:clinic.db"),
        ('data = "duckdb:a.db?query=S"\nfile = "a.csv"', "one table: a file, or the query"),
        ("", "one table: a file, or the query"),
    ],
)
def test_a_participant_brings_one_table(keys, message):
    text = f"""
[run]
name = "p"
[data]
source = "files"
[table]
label = "ill"
[[participants]]
name = "north"
{keys}
[[participants]]
name = "south"
file = "south.csv"
"""
    with pytest.raises(ConfigError, match=message):
        parse_config(text, source="test")
