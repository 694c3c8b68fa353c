import json
import re
import subprocess
import sys

import pytest
import typer
import typer.testing
from rich.text import Text

from securefair.cli import MEASURE, PLACES, app, on_demand
from securefair.cli.on_demand import CommandsOnDemand
from securefair.config.extensions import COMMANDS, LABORATORY_COMMANDS, PROFILES

LOADED = """
import json, sys, typer
from securefair.cli import app
commands = typer.main.get_command(app).commands
started = sorted(sys.modules)
commands["budget"]
print(json.dumps([started, sorted(sys.modules)]))
"""


def test_a_start_imports_the_command_that_was_asked_for_and_no_other():
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    places = {place.partition(":")[0] for _, place in PLACES.values()}
    before, after = (places.intersection(names) for names in json.loads(done.stdout))
    assert before == set()
    assert after == {"securefair.cli.budget"}
    assert [name for name in json.loads(done.stdout)[1] if "securefair_lab" in name] == []


def test_every_command_is_made_under_its_own_name_in_its_panel():
    commands = typer.main.get_command(app).commands
    assert list(commands)[: len(PLACES)] == [*PLACES]  # then those of extensions
    for name, command in commands.items():
        assert command.name == name
        assert command.rich_help_panel == PLACES.get(name, (MEASURE,))[0]
        assert commands[name] is command


def test_help_and_completion_show_all_commands(invoke, monkeypatch):
    shown = invoke("--help").stdout
    for panel, _ in PLACES.values():
        assert f" {panel} " in shown
    for variable, value in (
        ("_SECUREFAIR_COMPLETE", "complete_bash"),
        ("COMP_WORDS", "securefair "),
        ("COMP_CWORD", "1"),
    ):
        monkeypatch.setenv(variable, value)
    done = typer.testing.CliRunner().invoke(app, [], prog_name="securefair")
    assert done.stdout.split()[: len(PLACES)] == [*PLACES]
    for name in PLACES:
        assert f" {name} " in shown


def test_a_name_that_nobody_has_is_refused_with_the_one_that_was_meant(invoke):
    done = invoke("identty")
    assert done.exit_code == 2
    assert "Did you mean 'identity'" in done.stderr


def test_an_extension_takes_no_name_of_ours(monkeypatch):
    monkeypatch.setattr(on_demand, "extensions", lambda _: {"plan": print, "other": other})
    commands = CommandsOnDemand(PLACES, MEASURE, COMMANDS)
    assert list(commands) == [*PLACES, "other"]
    assert len(commands) == len(PLACES) + 1
    assert commands["plan"].callback is not print
    assert commands["other"].name == "other"
    with pytest.raises(KeyError):
        commands["walk"]


@pytest.fixture
def alone(monkeypatch):
    """No extension is installed, and no command of one was made before."""
    monkeypatch.setattr(CommandsOnDemand, "_installed", lambda _: {})
    monkeypatch.setattr(typer.testing, "_get_command", typer.main.get_command)  # cached in tests


@pytest.mark.parametrize(
    "command",
    [
        (*family, name)
        for group, family in ((COMMANDS, ()), (PROFILES, ("profile",)))
        for name in LABORATORY_COMMANDS[group]
    ],
)
def test_a_command_of_the_laboratory_says_where_it_is_without_one(invoke, alone, command):
    for rest in ((), ("--help",), ("--out", "cost.json")):
        done = invoke(*command, *rest)
        assert done.exit_code == 2
        assert done.stderr == (
            f"securefair: command {command[-1]} belongs to securefair-lab, which is not "
            "installed. pip install securefair-lab\n"
        )


def test_other_names_are_unknown_without_the_laboratory_too(invoke, alone):
    for command in (("walk",), ("profile", "walk"), ("profile", "reproduce")):
        assert "No such command" in invoke(*command).stderr


def other() -> None:
    """A command of an extension."""


def every_command(commands, before=()):
    for name, command in commands.items():
        yield (*before, name), command
        yield from every_command(getattr(command, "commands", {}), (*before, name))


def test_no_help_loses_words_in_brackets():
    """Brackets are markup to rich, which prints the help: "[table]" would vanish."""
    for path, command in every_command(typer.main.get_command(app).commands):
        texts = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
        for text in texts:
            assert Text.from_markup(text).plain == text.replace("\\[", "["), path


def every(commands, before=()):
    for name, command in commands.items():
        yield (*before, name), command
        yield from every(getattr(command, "commands", {}), (*before, name))


def test_every_help_fits_a_terminal_and_keeps_what_it_says(invoke, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for names, command in every(typer.main.get_command(app).commands):
        shown = invoke(*names, "--help").stdout
        assert max(map(len, shown.splitlines())) <= 80, names
        text = "".join(shown.split())
        for paragraph in (command.help or "").split("\n\n"):
            assert "\n" not in paragraph, names
            assert "".join(paragraph.split()) in text, names
        for option in command.params:
            for word in re.findall(r"\[[^\]\s]+\]", getattr(option, "help", None) or ""):
                assert word in text, (names, option.name)
