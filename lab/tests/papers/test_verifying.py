"""What `securefair reproduce --verify` says of stored results."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.errors import ConfigError
from securefair.report import write_json
from securefair_lab.papers import verifying
from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.stored import STORED_AS, stored_names, stored_result
from securefair_lab.papers.verdicts import VERDICTS
from securefair_lab.papers.verifying import verified, verify

NAME = "cycle-table3"


def test_a_script_reads_a_line_for_every_result() -> None:
    names = [NAME, "cycle-figure11", "cycle-table1"]
    told = CliRunner().invoke(app, ["reproduce", "--verify", *names, "--json"])
    assert told.exit_code == 0
    found = json.loads(told.stdout)
    assert [own["name"] for own in found] == names
    assert [own["status"] for own in found] == ["equal", "equal", "equal"]
    assert found[2]["stored_as"] == ["cycle-figure3", "cycle-figure4"]
    assert all(set(own["claims"]) == set(VERDICTS) for own in found)
    assert sum(found[0]["claims"].values()) == len(stored_result(NAME).claims)
    assert found[0]["origin"]["processor"]
    assert found[1]["against"] == "computed now"


def test_what_was_compared_with_itself_is_not_called_equal() -> None:
    told = CliRunner(env={"COLUMNS": "200"}).invoke(
        app, ["reproduce", "--verify", NAME, "cycle-figure11"]
    )
    shown = {row.split()[0]: row for row in told.stdout.splitlines() if "cycle" in row}
    assert "not run" in shown[NAME]
    assert "equal" not in shown[NAME]
    assert "equal" in shown["cycle-figure11"]  # computed now


def test_where_there_is_nothing_to_run_it_is_said() -> None:
    found = verified("cycle-figure1", None)
    assert (found.status, found.against) == ("missing", "nothing: an illustration")


@pytest.mark.parametrize("name", STORED_AS)
def test_what_is_stored_under_other_names_has_their_runs(name: str) -> None:
    def keys(one: str) -> set[str]:
        return {own.key for own in EXPERIMENTS[one].contenders("cpu", None)}

    assert name not in stored_names()
    assert keys(name) <= set().union(*map(keys, STORED_AS[name]))


def test_a_missing_folder_of_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        verify([NAME], tmp_path / "nowhere", json=True)


@pytest.mark.parametrize("named", ["", "comparison.json"])
def test_a_runs_own_folder_and_file_are_taken(tmp_path: Path, named: str) -> None:
    write_json(tmp_path / "comparison.json", stored_result(NAME))
    found = verified(NAME, tmp_path / named)
    assert found.against == f"a run in {tmp_path}, 3 of 3 seeds"


def test_without_a_run_in_the_folder_it_is_said(tmp_path: Path) -> None:
    assert verified(NAME, tmp_path).against == f"its own seeds; no run of it in {tmp_path}"


def test_a_run_of_fewer_seeds_is_never_equal(tmp_path: Path) -> None:
    stored = stored_result(NAME)
    numbers = [
        msgspec.structs.replace(own, each=own.each[:1], ours=own.each[0], spread=0.0)
        for own in stored.numbers
    ]
    one = msgspec.structs.replace(stored, seeds=1, numbers=numbers)
    write_json(tmp_path / "comparison.json", one)
    found = verified(NAME, tmp_path)
    assert (found.status, found.different, found.lacking) == ("missing", 0, ["1 of 3 seeds"])
    assert found.against.endswith("1 of 3 seeds")


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
    moved = [value + 0.001 for value in first.each]
    again = msgspec.structs.replace(
        stored,
        numbers=[
            msgspec.structs.replace(first, each=moved, ours=first.ours + 0.001),
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
    names = [NAME, "cffl-free-rider"]
    asked = ["reproduce", "--verify", *names, "--out", str(tmp_path), "--json"]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code != 0
    assert [own["name"] for own in json.loads(told.stdout)] == names[1:]
    assert "comparison.json" in told.output + str(told.exception)
