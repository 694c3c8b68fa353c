"""Shards that ran apart are together what one process would have given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.errors import ConfigError, DataError
from securefair_lab.papers.merging import merge
from securefair_lab.papers.reproduction import Asked, merged, part

NAME = "cycle-table6"


def asked(out: Path) -> Asked:
    return Asked.of(NAME, "smoke", 2, out=out, data=None, device=None, runs=None)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two shards of two seeds, each in a folder of its own."""
    folders = [tmp_path_factory.mktemp(name) / "out" for name in ("one", "two")]
    for index, folder in enumerate(folders, start=1):
        told = part(asked(folder), f"{index}/2", resume=False)
        assert f"Shard {index} of 2" in told
    return folders


def numbers(folder: Path) -> object:
    return json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["numbers"]


def test_merged_shards_are_the_whole(shards: list[Path], tmp_path: Path) -> None:
    runner = CliRunner()
    arguments = ["reproduce", "merge", *map(str, shards), "--out", str(tmp_path / "all")]
    assert runner.invoke(app, arguments, catch_exceptions=False).exit_code == 0
    whole = ["reproduce", NAME, "--seeds", "2", "--out", str(tmp_path / "whole")]
    assert runner.invoke(app, whole, catch_exceptions=False).exit_code == 0
    assert numbers(tmp_path / "all") == numbers(tmp_path / "whole")
    stored = str(tmp_path / "all" / "comparison.json")
    again = runner.invoke(app, [*whole, "--resume", "--against", stored], catch_exceptions=False)
    assert "numbers repeat" in again.output


def test_shards_of_one_folder_are_merged_in_place(tmp_path: Path) -> None:
    for index in (1, 2, 2):  # a task that is started again finds its runs finished
        part(asked(tmp_path / "out"), f"{index}/2", resume=False)
    _, finished = merged([tmp_path / "out"], None, None)
    assert len(finished) == 2 * len(asked(tmp_path).experiment.contenders("smoke", None))


def test_a_missing_shard_is_named(shards: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"of \d+ runs are missing"):
        merged(shards[:1], tmp_path / "all", None)


def test_shards_of_other_code_are_refused(shards: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    written = json.loads((shards[0] / "experiment.json").read_text(encoding="utf-8"))
    (other / "experiment.json").write_text(json.dumps({**written, "code": "0" * 16}))
    with pytest.raises(ConfigError, match="other code"):
        merge([shards[0], other], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_folders_of_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder of a reproduction"):
        merge([tmp_path], tmp_path / "all")
    with pytest.raises(ConfigError, match="name the folders"):
        merge([], tmp_path / "all")
