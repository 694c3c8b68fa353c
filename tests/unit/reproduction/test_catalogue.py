"""Every experiment can be started, and says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from securefair.errors import ConfigError
from securefair.reproduction.catalogue import EXPERIMENTS, experiment_named
from securefair.reproduction.reference import printed, printed_rows


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


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="cffl-table1"):
        experiment_named("cfl-table1")


def test_the_papers_folder_must_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from securefair.reproduction.reference import papers_folder

    monkeypatch.delenv("SECUREFAIR_PAPERS", raising=False)
    assert papers_folder(None) is None
    with pytest.raises(ConfigError, match="--papers"):
        papers_folder(tmp_path / "nowhere")
