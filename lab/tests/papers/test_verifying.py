"""What `securefair reproduce --verify` says of stored results."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.report import write_json
from securefair_lab.papers import verifying
from securefair_lab.papers.stored import stored_names, stored_result
from securefair_lab.papers.verdicts import VERDICTS
from securefair_lab.papers.verifying import verified

NAME = "cycle-table3"


def test_a_script_reads_a_line_for_every_result() -> None:
    names = [NAME, "cycle-figure11", "cycle-table1"]
    told = CliRunner().invoke(app, ["reproduce", "--verify", *names, "--json"])
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert [own["name"] for own in found] == names
    assert [own["status"] for own in found] == ["equal", "equal", "missing"]
    assert all(set(own["claims"]) == set(VERDICTS) for own in found)
    assert sum(found[0]["claims"].values()) == len(stored_result(NAME).claims)
    assert found[0]["origin"]["processor"]
    assert found[1]["against"] == "computed now"


def test_without_names_it_tells_of_everything_that_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What all of it follows from is checked by `test_results.py`, one by one."""
    few = [name for name in stored_names() if name.startswith("cffl-")]
    monkeypatch.setattr(verifying, "stored_names", lambda: few)
    told = CliRunner().invoke(app, ["reproduce", "--verify", "--json"])
    assert len(few) > 2
    assert [own["name"] for own in json.loads(told.stdout)] == few


def test_a_run_of_now_is_what_counts_where_there_is_one(tmp_path: Path) -> None:
    stored = stored_result(NAME)
    first = stored.numbers[0]
    moved = [value + 1 for value in first.each]
    again = msgspec.structs.replace(
        stored,
        numbers=[
            msgspec.structs.replace(first, each=moved, ours=first.ours + 1),
            *stored.numbers[1:],
        ],
    )
    write_json(tmp_path / NAME / "comparison.json", again)
    found = verified(NAME, tmp_path)
    assert (found.status, found.different) == ("within", 1)
    assert str(tmp_path) in found.against


def test_means_that_do_not_follow_from_seeds_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = stored_result(NAME)
    wrong = msgspec.structs.replace(stored.numbers[0], ours=0.0)
    other = msgspec.structs.replace(stored, numbers=[wrong, *stored.numbers[1:]])
    monkeypatch.setattr(verifying, "stored_result", lambda _: other)
    assert verified(NAME, None).different == 1


def test_spreads_that_do_not_follow_from_seeds_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = stored_result(NAME)
    wrong = msgspec.structs.replace(stored.numbers[0], spread=99.0)
    other = msgspec.structs.replace(stored, numbers=[wrong, *stored.numbers[1:]])
    monkeypatch.setattr(verifying, "stored_result", lambda _: other)
    found = verified(NAME, None)
    assert (found.status, found.different) == ("within", 1)


def test_a_verdict_that_seeds_do_not_tell_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = stored_result(NAME)
    claims = [msgspec.structs.replace(own, verdict="holds") for own in stored.claims]
    untold = [own.claim for own in stored.claims if own.verdict == "cannot be told"]
    other = msgspec.structs.replace(stored, claims=claims)
    monkeypatch.setattr(verifying, "stored_result", lambda _: other)
    assert untold
    assert verified(NAME, None).moved == untold


def test_a_run_of_another_size_is_told_and_not_compared(tmp_path: Path) -> None:
    other = msgspec.structs.replace(stored_result(NAME), size="smoke")
    write_json(tmp_path / NAME / "comparison.json", other)
    found = verified(NAME, tmp_path)
    assert found.status == "equal"
    assert found.against.startswith("its own seeds; the run in ")
    assert found.against.endswith("size smoke")


def test_a_result_without_origin_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    other = msgspec.structs.replace(stored_result(NAME), origins=[])
    monkeypatch.setattr(verifying, "stored_result", lambda _: other)
    found = verified(NAME, None)
    assert (found.status, found.origin) == ("missing", None)


def test_a_result_that_cannot_be_read_ends_with_a_line(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    (folder / "comparison.json").write_text("{")
    told = CliRunner().invoke(app, ["reproduce", "--verify", NAME, "--out", str(tmp_path)])
    assert told.exit_code != 0
    assert "comparison.json" in told.output + str(told.exception)
