"""What a table could do to the terminal of whoever looks at it.

Adversary: whoever wrote a table's headings and classes, or a model's folder.
Protected: what the terminal shows, its title, its clipboard, its keyboard.
"""

import ast
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import securefair
from securefair.cli import app
from securefair.errors import printable

SOURCES = Path(securefair.__file__).parent
AGE, TITLE, BLINK = "age\x1b[2J", "patient_id\x1b]0;owned\x07", "y\x1b[5m"
SPARE = "spare\x9b2J\u202e"
PRINTING = ("report/telling.py", "report/screen.py")
"""The only modules that print."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, offset in (("north", 0), ("south", 2)):
        rows = [
            f"{20 + (3 * i + offset) % 60},{1000 + i},{i % 2},{BLINK if i % 3 else 'n'},7"
            for i in range(40)
        ]
        heading = f"{AGE},{TITLE},smoker,ill,{SPARE}\n"
        (tmp_path / f"{name}.csv").write_text(heading + "\n".join(rows) + "\n")
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.slow
def test_no_command_passes_on_what_steers(folder):
    """All that the table can reach: its headings and classes are shown with question marks."""
    tables = ("--data", "north.csv", "--data", "south.csv", "--label", "ill")
    made = run("new", "p", *tables)
    checked = run("check", "p/config.toml")
    ran = run("run", "p/config.toml", "--backend", "clear", "--out", "out")
    shown = run("show", "out/models/north")
    scored = run("evaluate", "out/models/north", "south.csv")
    predicted = run("predict", "out/models/north", "south.csv")
    reported = run("report", "out")
    said = [made, checked, ran, shown, scored, predicted, reported]
    for done in said:
        assert printable(done.output) == done.output
    for done in (made, checked, shown, predicted):
        assert "?" in done.output
    hidden = run("predict", "out/models/north", "south.csv", "--out", "p.csv")
    assert printable(hidden.output) == hidden.output
    assert f"probability_{BLINK}" in Path("p.csv").read_text()  # a file keeps the bytes


@pytest.mark.slow
def test_scripts_read_what_it_was_and_terminals_do_not(folder):
    made = run("new", "p", "--data", "north.csv", "--data", "south.csv", "--label", "ill", "--json")
    checked = run("check", "p/config.toml", "--json")
    for done in (made, checked):
        assert printable(done.output) == done.output
    assert SPARE in json.loads(made.output)["unused"]
    assert AGE in json.loads(checked.output)["features"]


def printing_calls(text):
    if not any(word in text for word in ("print(", "Console", "echo")):
        return  # parsing takes longest
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "Console", "rich.print") or called.endswith((".echo", ".secho")):
                yield called


def test_only_two_modules_print():
    """The one way that nothing can forget: rich and typer are called nowhere else."""
    found = [
        (path.name, called)
        for path in sorted(SOURCES.rglob("*.py"))
        if path.relative_to(SOURCES).as_posix() not in PRINTING
        for called in printing_calls(path.read_text("utf-8"))
    ]
    assert found == []
    former = "typer.echo(line_of(finding)); Console().print(report); print(1)"
    assert len(list(printing_calls(former))) == 3
