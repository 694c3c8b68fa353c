"""Exit codes of what ends a command: a unit starts again what may pass, and nothing else."""

import errno
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from securefair.cli import app
from securefair.cli.ending import (
    EXIT_CODE,
    EXIT_INTERRUPTED,
    EXIT_PASSING,
    EXIT_UNKNOWN,
    EXIT_USAGE,
    errors,
)
from securefair.errors import ConfigError, SecureFairError
from securefair.sites.couriers.folder import check_shared, make_project_folder
from securefair.sites.site.folder import check_data_file
from securefair.storage import files


def code_of(doing):
    with pytest.raises(typer.Exit) as ended, errors():
        doing()
    return ended.value.exit_code


def test_nothing_is_looked_through_when_a_command_ends():
    code = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count(), len(gc.get_objects())))  # the last one
from securefair.cli import main
sys.argv = ["securefair", "--version"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    frozen, left = map(int, done.stdout.split()[-2:])
    assert frozen > 10_000
    assert left < 100


def test_a_library_that_calls_what_is_left_a_leak_finds_nothing_left():
    code = """
import sys
import duckdb
from securefair.cli import main
duckdb.connect(":memory:").execute("select 1").fetchall()
sys.argv = ["securefair", "--version"]
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_ctrl_c_while_a_class_is_made_has_the_code_of_any_other(tmp_path):
    """`dataclass` makes methods by `exec`, and Python remembers what ended one."""
    (tmp_path / "interrupted.py").write_text("""
from securefair.cli.ending import errors
from typer import Exit
import sys
try:
    with errors():
        exec("raise KeyboardInterrupt")
except Exit as ended:
    sys.exit(ended.exit_code)
""")
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == EXIT_INTERRUPTED
    assert done.stderr == "securefair: Interrupted.\n"


def test_what_may_pass_by_itself_has_a_code_of_its_own():
    def refuse():
        raise ConfigError("a key is unknown")

    def wait():
        raise SecureFairError("the clock is not set", passing=True)

    assert code_of(refuse) == EXIT_USAGE
    assert code_of(wait) == EXIT_PASSING


def test_a_share_and_data_that_are_not_mounted_may_pass(tmp_path):
    gone = tmp_path / "not mounted"
    assert code_of(lambda: check_shared(gone, "north")) == EXIT_PASSING
    assert code_of(lambda: make_project_folder(gone, "heart", bytes(32))) == EXIT_PASSING
    assert not gone.exists()
    assert code_of(lambda: check_data_file(tmp_path / "own.csv")) == EXIT_PASSING


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), EXIT_PASSING),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), EXIT_PASSING),
        (OSError(errno.EIO, "Input/output error"), EXIT_PASSING),
        (OSError(errno.ESTALE, "Stale file handle"), EXIT_PASSING),
        (MemoryError(), EXIT_PASSING),
        (OSError(errno.EACCES, "Permission denied"), EXIT_USAGE),
    ],
    ids=lambda value: type(value).__name__ + str(getattr(value, "errno", "")),
)
def test_a_disk_that_is_full_or_fails_may_be_mended(error, code):
    def fail():
        raise error

    assert code_of(fail) == code


def test_a_keystore_that_finds_no_room_may_find_it_later(tmp_path, monkeypatch):
    def full(*_args, **_more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "replace_file", full)
    assert code_of(lambda: files.write_private(tmp_path / "keys", b"")) == EXIT_PASSING


@pytest.mark.parametrize(
    "words",
    [
        ["site", "status", "{nowhere}"],
        ["site", "status"],
        ["site", "status", "{nowhere}", "--unheard-of"],
        ["site", "statsu", "{nowhere}"],
        ["sight", "status", "{nowhere}"],
        ["--unheard-of", "site", "status", "{nowhere}"],
    ],
    ids=["no site", "no folder", "option", "command", "family", "first option"],
)
def test_no_mistake_looks_like_a_site_that_is_stopped(tmp_path, words):
    """Codes of `--exit-code` are what a command saw; without it they are those of all commands."""
    asked = [word.format(nowhere=tmp_path / "nowhere") for word in words]
    runner = CliRunner()
    assert runner.invoke(app, asked).exit_code == EXIT_USAGE
    assert runner.invoke(app, [*asked, EXIT_CODE]).exit_code == EXIT_UNKNOWN


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), MemoryError()], ids=repr)
def test_who_cannot_look_for_now_does_not_know(error):
    with pytest.raises(typer.Exit) as ended, errors(looks=True):
        raise error
    assert ended.value.exit_code == EXIT_UNKNOWN


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), ValueError("a bug"), KeyboardInterrupt()], ids=repr
)
def test_whoever_only_looks_takes_no_failure_for_what_it_saw(error):
    with pytest.raises(typer.Exit) as ended, errors(looks=True):
        raise error
    assert ended.value.exit_code == EXIT_UNKNOWN
    with pytest.raises((typer.Exit, ValueError)) as usual, errors():
        raise error
    assert getattr(usual.value, "exit_code", 1) != EXIT_UNKNOWN


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["config"]])
def test_an_output_without_room_is_one_line(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "securefair", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == EXIT_PASSING
    assert done.stderr.startswith("securefair: No space left on device. Free some space")
    assert done.stderr.count("\n") == 1


def test_a_full_disk_names_the_file_and_what_to_do(capsys):
    def fail():
        raise OSError(errno.ENOSPC, "No space left on device", "out/scores.csv")

    assert code_of(fail) == EXIT_PASSING
    said = "securefair: out/scores.csv: No space left on device. Free some space, or choose"
    assert capsys.readouterr().err.startswith(said)
