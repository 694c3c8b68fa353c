"""Every experiment of every paper runs at its smallest size, figure and all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from securefair.errors import DataError
from securefair.report import Progress
from securefair_lab.papers import controls, fairsl_forests
from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.comparison import compare, write_comparison, write_figure
from securefair_lab.papers.running import compared_rows, finished_runs

AVAILABLE = [name for name, experiment in EXPERIMENTS.items() if "smoke" in experiment.sizes]


@pytest.fixture(scope="module")
def shared_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished runs that experiments of one paper share, as `--runs` does."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def two_folds() -> Iterator[None]:
    """Of the five of a smoke run: each of the others is fitted in the same way, for one mean."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controls, "FOLDS", 2)
        patch.setattr(fairsl_forests, "SMOKE_FOLDS", 2)
        fairsl_forests.scores.cache_clear()
        yield
    fairsl_forests.scores.cache_clear()  # other tests see five folds


@pytest.mark.usefixtures("two_folds")
@pytest.mark.parametrize("name", AVAILABLE)
def test_an_experiment_runs_and_is_drawn(
    name: str, silent: Callable[..., Progress], shared_runs: Path, tmp_path: Path
) -> None:
    experiment = EXPERIMENTS[name]
    finished = finished_runs(
        experiment,
        "smoke",
        seeds=1,
        data=None,
        out=tmp_path,
        resume=False,
        progress=silent(),
        runs=shared_runs,
    )
    rows = compared_rows(experiment, "smoke", finished, seeds=1, data=None, papers=None)
    assert rows
    assert all(np.isfinite(list(row.metrics.values())).all() for row in rows)
    if experiment.draw is not None:
        figure = experiment.draw(finished, rows)
        figure.draw_without_rendering()
        assert figure.axes


def test_what_is_written_is_the_same_every_time(
    silent: Callable[..., Progress], tmp_path: Path
) -> None:
    experiment = EXPERIMENTS["dpfl-figure4"]
    written = []
    for out in (tmp_path / "first", tmp_path / "second"):
        finished = finished_runs(
            experiment, "smoke", seeds=1, data=None, out=out, resume=False, progress=silent()
        )
        rows = compared_rows(experiment, "smoke", finished, seeds=1, data=None, papers=None)
        assert experiment.draw is not None
        files = write_comparison(compare(experiment, "smoke", 1, rows), out)
        figure = experiment.draw(finished, rows)
        assert isinstance(figure, Figure)
        files.append(write_figure(figure, out / "figure.png"))
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["cycle-table1", "cycle-table4", "dpfl-table1"])
def test_missing_data_say_what_to_put_where(
    name: str, silent: Callable[..., Progress], tmp_path: Path
) -> None:
    experiment, out = EXPERIMENTS[name], tmp_path / "out"
    with pytest.raises(DataError, match=experiment.needs[0]) as raised:
        finished_runs(
            experiment,
            "cpu",
            seeds=1,
            data=tmp_path,
            out=out,
            resume=False,
            progress=silent(),
        )
    assert str(tmp_path) in str(raised.value)
    assert not out.exists()  # with the data in place the same command works, without --resume


def test_experiments_that_share_runs_mean_the_same_by_a_name() -> None:
    """Or a figure would run again what its table has run, and `--runs` would share nothing."""
    for size in ("smoke", "cpu", "paper"):
        seen: dict[tuple[str, str], tuple[object, ...]] = {}
        for experiment in EXPERIMENTS.values():
            if experiment.paper not in ("cycle", "dpfl") or size not in experiment.sizes:
                continue
            for contender in experiment.contenders(size, None):
                means = (contender.members, contender.algorithm, contender.rounds)
                assert seen.setdefault((experiment.paper, contender.label), means) == means


def test_what_shows_no_results_has_a_name_and_no_size() -> None:
    without = {name for name, experiment in EXPERIMENTS.items() if not experiment.sizes}
    assert without == {
        *("cycle-table5", "cycle-figure1", "cycle-figure2", "cycle-figure10"),
        *("fairsl-figure1", "fairsl-figure2"),
    }


TABLES = {"cycle": set(range(1, 14)), "dpfl": set(range(1, 7))}
OURS = {"cycle-lambda", "cycle-baselines", "cycle-rates", "dpfl-appendixa"}
"""Experiments that a paper's claims are examined with, and that it does not have."""
FIGURES = {"cycle": set(range(1, 24)), "dpfl": set(range(1, 16))}


@pytest.mark.parametrize("paper", TABLES)
def test_every_table_and_figure_has_a_name(paper: str) -> None:
    names = {name for name in EXPERIMENTS if name.startswith(paper)} - OURS
    expected = {f"{paper}-table{n}" for n in TABLES[paper]}
    assert names == expected | {f"{paper}-figure{n}" for n in FIGURES[paper]}
