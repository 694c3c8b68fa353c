"""What a reproduction tells at its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair_lab.papers import reproduction
from securefair_lab.papers.comparison import Comparison
from securefair_lab.papers.reproduction import Asked, conclude


def test_a_script_reads_what_was_concluded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what would steer a terminal, which text for people shows as a question mark."""
    note = "\u202eturned\x1b[31m red"
    comparison = Comparison(
        experiment="cycle-table6",
        paper="cycle",
        item="Table 6",
        size="smoke",
        seeds=1,
        unit="%",
        note=note,
        numbers=[],
        claims=[],
    )
    for name, value in (
        ("compared_rows", []),
        ("origins_of_runs", []),
        ("compare", comparison),
        ("write_comparison", []),
        ("write_figure", tmp_path),
    ):
        monkeypatch.setattr(reproduction, name, lambda *_, given=value, **__: given)
    asked = Asked.of("cycle-table6", "smoke", 1, out=tmp_path, data=None, device=None, runs=None)
    conclude(asked, [], None, against=None, json=True)
    printed = capsys.readouterr().out
    assert not {"\u202e", "\x1b"} & set(printed)
    assert json.loads(printed)["note"] == note


@pytest.mark.parametrize("missing", ["folder", "paper"])
def test_papers_that_are_not_there_end_it_before_any_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def trained(*_: object, **__: object) -> None:
        raise AssertionError("trained before the papers were looked for")

    monkeypatch.setattr(reproduction, "whole", trained)
    papers = tmp_path / "nowhere" if missing == "folder" else tmp_path
    words = ["reproduce", "cffl-table1", "--out", str(tmp_path / "out"), "--papers", str(papers)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2, done.exception
    assert done.output.replace("\n", "").startswith("securefair: ")
    assert str(papers) in done.output.replace("\n", "")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", ["smoke", "cpu"])
def test_an_illustration_is_named_as_one(size: str) -> None:
    """It complained of --size, which nobody had given."""
    done = CliRunner().invoke(app, ["reproduce", "cycle-table5", "--size", size])
    assert done.exit_code == 2
    assert "this is an illustration: there is nothing to run" in " ".join(done.output.split())
    assert "--size" not in done.output


@pytest.mark.parametrize("width", [80, 160])
def test_a_list_is_no_longer_than_it_can_be_read(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """651 lines of 80 characters."""
    monkeypatch.setenv("COLUMNS", str(width))
    said = CliRunner().invoke(app, ["reproduce", "--list"]).stdout
    assert len(said.splitlines()) < 250
    assert ("seeds stored" in said.splitlines()[0]) == (width == 160)
    assert "--json" in said or width == 160
    found = json.loads(CliRunner().invoke(app, ["reproduce", "--list", "--json"]).stdout)
    seeds = {one["name"]: one["seeds"] for one in found}
    assert seeds["cycle-table1"] == min(seeds["cycle-figure3"], seeds["cycle-figure4"]) > 0
