"""What a site joins is what its operator was shown, whoever writes to the share meanwhile; and a
site that cannot take part hears it before it signs, and can go or be mended where it has."""

import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from securefair.cli.joining import _unchanged
from securefair.cli.joining import run as run_joined
from securefair.errors import ConfigError
from securefair.sites.project.project import signature_file
from support.operators import SETTINGS, found, init_arguments, securefair, write_table

DISTILS = SETTINGS.replace("[transfer]\nq = 16", "[distillation]\nq = 39")
"""A table of 60 gives 40 for training: one fewer would not do."""

TOO_FEW = "disclose as much as the logits"


def test_a_project_file_that_was_replaced_is_not_joined():
    shown, other = (SimpleNamespace(digest=bytes([number]) * 32) for number in (1, 2))
    assert _unchanged(shown, shown.digest) is shown
    with pytest.raises(ConfigError, match="was changed since this site showed it"):
        _unchanged(other, shown.digest)


def test_who_is_stopped_hears_how_to_go_on(monkeypatch, capsys):
    """`site stop` of a join ended with "Interrupted." alone."""

    def looked_at(folder, secret, *, quoting):
        del folder, secret, quoting
        yield "keys are in order"
        os.kill(os.getpid(), signal.SIGTERM)
        yield "data are in order"

    monkeypatch.setattr("securefair.sites.site.checking.check_site", looked_at)
    with pytest.raises(typer.Exit) as ended:
        run_joined(Path("my site"), None, lambda *_: None, json=False)
    assert ended.value.exit_code == 130
    assert "The site was stopped. It goes on with: securefair site start 'my site'" in (
        capsys.readouterr().err
    )


@pytest.fixture
def place(tmp_path):
    """Two sites with just enough patients; then north's table becomes too small, unnoticed."""
    found(tmp_path, settings=DISTILS, wishes=("--algorithm", "cycle"))
    table = tmp_path / "north.csv"
    lines = table.read_text(encoding="utf-8").splitlines()
    table.write_text("\n".join(lines[:41]), encoding="utf-8")
    return tmp_path


def said(*arguments, **wishes):
    """Messages are wrapped at the terminal's width."""
    return " ".join(securefair(*arguments, **wishes).split())


def test_who_cannot_take_part_hears_it_before_a_signature(place):
    signature_file(place / "heart.toml", "north").unlink()
    arguments = init_arguments(place, "north", place / "other")
    refused = said("site", "join", *arguments[2:], "--yes", fails=True)
    assert "north, q: " in refused
    assert TOO_FEW in refused
    assert not signature_file(place / "heart.toml", "north").exists()


def test_who_cannot_take_part_gets_no_folder(place):
    assert TOO_FEW in said(*init_arguments(place, "north", place / "other"), fails=True)
    assert not (place / "other").exists()


def test_who_cannot_take_part_leaves(place):
    secret = ("--passphrase-file", place / "passphrase")
    heard = said("site", "leave", place / "north", "--seconds", 0, "--yes", *secret)
    assert heard == "south: not reached"
    assert "has left the project" in said("site", "start", place / "north", *secret, fails=True)


def test_who_cannot_take_part_goes_on_with_a_larger_table(place):
    secret = ("--passphrase-file", place / "passphrase")
    write_table(place / "larger.csv", 7)
    for command in ("export", "check"):  # what an earlier try leaves behind changes nothing
        more = (place / "out",) * (command == "export")
        assert TOO_FEW in said("site", command, place / "north", *more, *secret, fails=True)
    small = place / "north.csv"
    refused = said("site", "renew", place / "north", "--data", small, *secret, fails=True)
    assert TOO_FEW in refused
    renewed = said("site", "renew", place / "north", "--data", place / "larger.csv", *secret)
    assert renewed.startswith("40 training and 20 test samples, from the first round.")
    assert "data: 40 training" in said("site", "check", place / "north", *secret)
    out = place / "out"
    assert "no round is over" in said("site", "export", place / "north", out, *secret, fails=True)
