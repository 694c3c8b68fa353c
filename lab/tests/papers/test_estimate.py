"""An estimate measures each distinct population once, and `all` runs what has its data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.errors import BackendUnavailableError, DataError
from securefair_lab.papers import estimate, everything
from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.estimate import Trial
from securefair_lab.papers.experiment import Experiment

NAMES = ("cycle-table6", "cycle-figure22", "cycle-figure8")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[Trial]:
    """Trials that take two seconds a batch."""
    made: list[Trial] = []

    def trial(members: estimate.StackedPopulation, batch: int, together: int) -> Trial:
        made.append(
            Trial(
                network=members.network,
                shape=(1,),
                participants=together,
                batch=batch,
                seconds=2.0,
                memory=1.0,
            )
        )
        return made[-1]

    monkeypatch.setattr(estimate, "trial", trial)
    return made


def test_hours_are_batches_times_epochs_times_seeds(measured: list[Trial]) -> None:
    experiment = EXPERIMENTS["cycle-figure22"]
    found = estimate.estimate([experiment], "smoke", seeds=3, data=None, device="cpu")
    contenders = experiment.contenders("smoke", None)
    # Full batches: one step an epoch; an epoch alone and two rounds of one; five participants.
    expected = 3 * len(contenders) * 5 * 3 * 2.0 / 3600
    assert found.hours == {experiment.name: pytest.approx(expected)}
    assert len(measured) == 1


def test_what_experiments_share_counts_once(measured: list[Trial]) -> None:
    both = [EXPERIMENTS[name] for name in ("cycle-table1", "cycle-table13")]
    found = estimate.estimate(both, "smoke", seeds=1, data=None, device="cpu")
    assert found.hours["cycle-table1"] > 0
    assert found.hours["cycle-table13"] == 0
    assert measured


def test_missing_data_leave_an_experiment_without_an_estimate(tmp_path: Path) -> None:
    found = estimate.estimate(
        [EXPERIMENTS["cycle-table1"]], "paper", seeds=1, data=tmp_path, device="cpu"
    )
    assert found.hours == {}
    assert "cifar10" in found.without["cycle-table1"]


def test_a_missing_library_leaves_an_experiment_without_an_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(*_: object) -> Trial:
        raise BackendUnavailableError("torchvision cannot be imported")

    monkeypatch.setattr(estimate, "trial", missing)
    experiment = EXPERIMENTS["cycle-figure22"]
    found = estimate.estimate([experiment], "smoke", seeds=1, data=None, device="cpu")
    assert found.without == {experiment.name: "torchvision cannot be imported"}


def test_five_batches_are_really_trained() -> None:
    (contender, *_) = EXPERIMENTS["cycle-figure22"].contenders("smoke", None)
    found = estimate.trial(contender.members(0), 16, 1)
    assert found.seconds > 0
    assert found.memory > 10


def test_all_runs_every_experiment_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    some: Mapping[str, Experiment] = {name: EXPERIMENTS[name] for name in NAMES}
    monkeypatch.setattr(everything, "EXPERIMENTS", some)
    arguments = ["reproduce", "all", "--size", "smoke", "--out", str(tmp_path / "out")]
    for _ in range(2):
        done = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert done.exit_code == 0
        assert "hours on cpu" in done.output
        for name in NAMES:
            assert (tmp_path / "out" / name / "comparison.json").is_file()


def test_data_that_are_missing_are_named_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(everything, "EXPERIMENTS", {"t": EXPERIMENTS["cycle-table7"]})
    with pytest.raises(DataError, match="left out"):
        everything.everything(
            None, "paper", 1, out=tmp_path, data=tmp_path, device="cpu", papers=None, hours=False
        )


def test_only_hours_runs_nothing(measured: list[Trial], tmp_path: Path) -> None:
    arguments = ["reproduce", NAMES[0], "--hours", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert measured
    assert not (tmp_path / "out").exists()
