"""Every experiment can be started, and says what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from securefair.errors import ConfigError
from securefair_lab.papers import cycle_data, dpfl_settings
from securefair_lab.papers.catalogue import EXPERIMENTS, experiment_named
from securefair_lab.papers.fairsl_settings import FASHION
from securefair_lab.papers.listing import FILE, print_list, written
from securefair_lab.papers.reference import printed, printed_rows


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_contenders_are_distinct_and_have_one_control(name: str) -> None:
    experiment = EXPERIMENTS[name]
    contenders = experiment.contenders("smoke", None)
    labels = [contender.label for contender in contenders]
    assert len(set(labels)) == len(labels)
    for contender in contenders:
        controls = [c for c in contenders if c.control and c.setting == contender.setting]
        assert len(controls) == 1


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_nothing_is_shown_by_no_results(name: str) -> None:
    shown = [claim.words for claim in EXPERIMENTS[name].claims if claim.holds([])]
    assert shown == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_paper_prints_the_rows_that_are_compared(papers: Path, name: str) -> None:
    experiment = EXPERIMENTS[name]
    rows = printed_rows(experiment, papers)
    missing = [
        dict(contender.printed_as)
        for contender in experiment.contenders("smoke", None)
        if experiment.item.startswith("Table")
        and not contender.control
        and not printed(rows, contender.printed_as)
    ]
    assert not missing


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_decides_a_run_can_be_told_in_words_that_stay(name: str) -> None:
    experiment = EXPERIMENTS[name]
    for size in experiment.sizes:
        here = experiment.contenders(size, Path("here"))
        there = experiment.contenders(size, Path("there"))
        assert [contender.key for contender in here] == [contender.key for contender in there]
        for contender in here:
            assert " at 0x" not in repr((contender.members, contender.algorithm))


def file_of(paper: str, size: str, setting: Any) -> str:
    """Of the data folder, for a contender's setting."""
    if paper == "cycle":
        return cycle_data.FILES[setting.dataset][1]
    if paper == "dpfl":
        return dpfl_settings.FILES[setting.dataset][1]
    substitute = setting.task is FASHION and size == "cpu"
    return "mnist.npz" if substitute else setting.task.file


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.paper != "cffl"])
def test_the_files_of_a_size_are_those_that_its_contenders_read(name: str) -> None:
    experiment = EXPERIMENTS[name]
    for size in experiment.sizes[1:]:
        contenders = experiment.contenders(size, Path())
        read = {file_of(experiment.paper, size, c.members) for c in contenders}
        assert not contenders or read == set(experiment.files(size))


def test_the_list_keeps_the_fields_that_scripts_read(capsys: pytest.CaptureFixture[str]) -> None:
    print_list(json=True)
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == list(EXPERIMENTS)
    fields = {"name", "paper", "item", "shows", "needs", "sizes", "differs", "seeds"}
    for one in listed:
        assert set(one) >= fields
        assert set(one["needs"]) == set(one["sizes"])


def test_every_name_can_be_read_on_a_narrow_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_list(json=False)
    words = capsys.readouterr().out.split()
    assert set(EXPERIMENTS) <= set(words)


def test_the_list_is_of_the_experiments_as_they_are() -> None:
    same = written(EXPERIMENTS.values()) == FILE.read_bytes()
    assert same, "the list is of older experiments: python scripts/list_experiments.py"


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="cffl-table1"):
        experiment_named("cfl-table1")


def test_the_papers_folder_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from securefair_lab.papers.reference import papers_folder

    monkeypatch.delenv("SECUREFAIR_PAPERS", raising=False)
    assert papers_folder(None) is None
    with pytest.raises(ConfigError, match="--papers"):
        papers_folder(tmp_path / "nowhere")
