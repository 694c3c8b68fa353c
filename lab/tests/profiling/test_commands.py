"""What the laboratory adds to `securefair`, as a user meets it."""

import pytest
import typer.main
from typer.testing import CliRunner

from securefair.cli import app
from securefair.config import defaults


def call(*arguments):
    return CliRunner().invoke(app, arguments)


def test_its_commands_are_there():
    commands = typer.main.get_command(app).commands
    assert "reproduce" in commands
    profiles = commands["profile"].commands
    assert list(profiles) == ["head", "alignment", "averaging", "cnn", "scale", "sharing"]
    for name, command in profiles.items():
        assert command.name == name
        assert command.help


@pytest.mark.parametrize("option", [("--q", "3"), ("--basis", "public")])
@pytest.mark.parametrize("release", ["loss", "class_sums", "logits"])
def test_an_option_of_projections_is_refused_for_another_release(option, release):
    result = call("profile", "scale", "--release", release, *option)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == (
        f"securefair: {option[0]}: only a projection has this option "
        f"(found '--release {release}', expected '--release projection')"
    )


@pytest.mark.parametrize("of", ["rounds", "transfer"])
def test_no_numbers_are_refused_and_do_not_become_the_default(of):
    result = call("profile", "scale", "--of", of, "--q", "0")
    assert result.exit_code == 2
    line = result.stderr.splitlines()[-1]
    assert "q: " in line
    assert "(found 0," in line


@pytest.mark.parametrize(
    "option",
    [
        *("--release logits", "--basis public", "--hidden 8", "--precision 0.01"),
        *("--flooding-bits 30", f"--precision {defaults.PRECISION}"),
    ],
)
def test_an_option_of_exchanges_is_refused_for_transfers(option):
    """Even where it asks for what is so anyway."""
    name, value = option.split()
    result = call("profile", "scale", "--of", "transfer", name, value)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"securefair: {name}: has no meaning here (found '--of transfer', expected '--of rounds')\n"
    )


def test_an_option_of_transfers_is_refused_for_exchanges():
    result = call("profile", "scale", "--peers", "4")
    assert result.exit_code == 2
    assert result.stderr == (
        "securefair: --peers: has no meaning here (found '--of rounds', expected '--of transfer')\n"
    )


@pytest.mark.parametrize("command", ["sharing", "scale"])
def test_a_place_that_takes_no_results_is_found_before_the_work(tmp_path, command):
    (tmp_path / "taken").write_text("mine")
    result = call("profile", command, "--out", str(tmp_path / "taken" / "results"))
    assert result.exit_code == 2
    assert "taken is not a folder" in result.stderr
    assert "--out" in result.stderr
    assert (tmp_path / "taken").read_text() == "mine"
