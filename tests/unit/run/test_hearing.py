"""Callbacks hear of every round of every seed, whichever process computed it."""

import pytest

from securefair.config import demo_config, override
from securefair.records import RoundRecord
from securefair.report import read_json_lines
from securefair.run import processes
from securefair.run.folder import read_run, write_outcome
from support.experiments import run_experiment
from support.fits import begin_quickly
from unit.run.test_checkpoint import Listener
from unit.run.test_processes import SMALL, Callback

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]  # whole runs

EVERY = [(seed, round) for seed in (0, 1) for round in range(2)]


@pytest.fixture
def config(monkeypatch):
    monkeypatch.setattr(processes, "_begin", begin_quickly)
    return override(demo_config(), SMALL | {"report.html": False}, source="test")


def told(callback):
    return [(one.seed, one.round) for one in callback.heard]


# Controls of the second seed are not over: rounds of both, or of one, are finished and untold.
@pytest.mark.parametrize(("number", "after"), [(1, 8), (1, 15), (2, 13)])
def test_rounds_that_nobody_was_told_of_are_told_by_whoever_goes_on(
    config, tmp_path, number, after
):
    before, later = Callback(), Callback()
    with pytest.raises(KeyboardInterrupt):
        run_experiment(config, Listener(after), out=tmp_path, processes=number, callbacks=[before])
    run_experiment(
        config, Listener(), out=tmp_path, processes=number, callbacks=[later], resume=True
    )
    assert told(before) + told(later) == EVERY


def test_a_callback_that_comes_later_hears_everything(config, tmp_path):
    later = Callback()
    with pytest.raises(KeyboardInterrupt):
        run_experiment(config, Listener(8), out=tmp_path)
    run_experiment(config, Listener(), out=tmp_path, callbacks=[later], resume=True)
    assert told(later) == EVERY


def test_a_round_is_told_again_where_telling_failed(config, tmp_path):
    class Full(Callback):
        def on_round(self, record):
            if self.heard:
                raise OSError("disk full")
            super().on_round(record)

    before, later = Full(), Callback()
    with pytest.raises(OSError, match="disk full"):
        run_experiment(config, Listener(), out=tmp_path, callbacks=[before])
    run_experiment(config, Listener(), out=tmp_path, callbacks=[later], resume=True)
    assert told(before) + told(later) == EVERY


def test_records_of_all_seeds_are_kept(config, tmp_path):
    callback = Callback()
    outcome = run_experiment(config, Listener(), callbacks=[callback])
    write_outcome(outcome, tmp_path)
    written = read_json_lines(tmp_path / "rounds.jsonl", RoundRecord)
    assert [one for one in written if one.algorithm == "vpdl"] == callback.heard
    again = read_run(tmp_path)
    assert {one.seed for one in again.rounds} == {0}
    assert {one.seed for one in again.further} == {1}
    assert (again.rounds, again.further) == (outcome.rounds, outcome.further)
