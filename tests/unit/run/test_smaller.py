"""The same run once more with fewer training samples, in one report."""

import json

import numpy as np
import pytest

from securefair.collaboration.resolved import ResolvedRun
from securefair.config import demo_config, override
from securefair.data.split import keep_training
from securefair.errors import PlanError
from securefair.run.folder import read_run, write_outcome
from securefair.user.participants import load_participants
from support.experiments import run_experiment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]

SETTINGS = {
    "run.algorithms": ["standalone", "vpdl", "transfer"],
    "run.seeds": [0],
    "run.smaller": 20,
    "distillation.q": 16,
    "training.rounds": 1,
    "training.local_epochs": 2,
    "encryption.backend": "clear",
}


def small(**changes):
    return override(demo_config(), SETTINGS | changes, source="test")


class Listener:
    def __init__(self, stop_at=None):
        self.started, self.stop_at = [], stop_at

    def start(self, algorithm, *_, **__):
        self.started.append(algorithm)
        if len(self.started) == self.stop_at:
            raise KeyboardInterrupt
        return self

    def advance(self, record): ...
    def finish(self): ...


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("smaller")
    outcome = run_experiment(small(), Listener(), out=out)
    write_outcome(outcome, out)
    return out, outcome


def test_participants_keep_so_many_training_samples_and_all_test_samples():
    whole = load_participants(small(), 0)
    kept = load_participants(small(**{"data.most_training": 20}), 0)
    for own, fewer in zip(whole, kept, strict=True):
        assert len(fewer.train) == 20
        np.testing.assert_array_equal(fewer.test.features, own.test.features)
        rows = {tuple(row) for row in own.train.features}
        assert {tuple(row) for row in fewer.train.features} <= rows
        assert len(keep_training(own, 10_000, 0).train) == len(own.train)


def test_the_last_algorithm_and_all_controls_run_once_more(finished):
    _, outcome = finished
    whole, smaller = outcome.result, outcome.smaller.result
    assert [*smaller.controls, "transfer"] == list(smaller.algorithms)
    assert smaller.controls == whole.controls
    assert {one.train_samples for one in smaller.participants} == {20}
    assert [one.test_samples for one in smaller.participants] == [
        one.test_samples for one in whole.participants
    ]


def test_it_stands_in_the_report_and_in_a_folder_of_its_own(finished):
    out, outcome = finished
    page = (out / "report.html").read_text("utf-8")
    assert "Small hospitals: at most 20 training patients each" in page
    inner = json.loads((out / "smaller" / "metrics.json").read_text("utf-8"))
    assert inner["name"] == "demo-smaller"
    assert sum(row["answers"] for row in json.loads((out / "smaller/ledger.json").read_bytes())) > 0
    again = read_run(out)
    assert again.smaller.result == outcome.smaller.result
    assert "smaller" not in (out / "smaller" / "config.toml").read_text("utf-8").split("[data]")[1]


def test_an_interruption_in_it_repeats_nothing_of_the_whole(finished, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_experiment(small(), Listener(stop_at=6 + 3), out=tmp_path)
    listener = Listener()
    outcome = run_experiment(small(), listener, out=tmp_path, resume=True)
    write_outcome(outcome, tmp_path)
    assert outcome.smaller.result.algorithms == finished[1].smaller.result.algorithms
    assert outcome.result.algorithms == finished[1].result.algorithms
    assert not list(tmp_path.rglob("unfinished"))


def test_nothing_is_run_once_more_unless_asked():
    again = ResolvedRun.of(small()).smaller()
    assert (again.config.run.smaller, again.config.data.most_training) == (None, 20)
    plain = demo_config().model_copy(
        update={"run": demo_config().run.model_copy(update={"smaller": None})}
    )
    assert ResolvedRun.of(plain).smaller() is None


def test_what_is_impossible_with_few_samples_is_refused_before_anything():
    listener = Listener()
    with pytest.raises(PlanError, match=r"run\.smaller = 12: Cleveland, q: so many numbers"):
        run_experiment(
            small(**{"run.algorithms": ["standalone", "vpdl"], "run.smaller": 12}), listener
        )
    assert listener.started == []
