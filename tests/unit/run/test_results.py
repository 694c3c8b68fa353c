"""What a run concludes agrees with the records of its rounds."""

import io
from functools import cache

import msgspec
import numpy as np
import pytest
from rich.console import Console

from securefair.config import demo_config, override
from securefair.report import show_progress
from securefair.report.facts import problem_lines
from securefair.report.scores import left_out
from securefair.run import execute as experiment
from securefair.run.results import conclude
from securefair.words import words_of
from support.experiments import run_experiment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]


def outcome_of(**changes):
    settings = {
        "run.algorithms": ["standalone", "vpdl", "cycle"],
        "run.smaller": None,
        "encryption.backend": "clear",
        "model.kind": "linear",
        "distillation.q": 4,
        "training.rounds": 2,
        "training.local_epochs": 2,
        "run.seeds": [0],
    }
    config = override(demo_config(), settings | changes, source="test")
    with show_progress(Console(file=io.StringIO())) as progress:
        return run_experiment(config, progress)


@pytest.fixture(scope="module")
def outcome():
    return outcome_of(**{"run.seeds": [0, 1]})


@cache
def of_one_seed(seed):
    return outcome_of(**{"run.seeds": [seed]})


def test_what_was_left_out_stands_in_the_results_by_seed(monkeypatch):
    calls = iter([True] * 3 + [False] + [True] * 2)
    monkeypatch.setattr("securefair.model.transfer.transferred.is_function", lambda *_: next(calls))
    outcome = outcome_of(
        **{
            "run.algorithms": ["standalone", "transfer"],
            "transfer.opened": "mean",
            "run.seeds": [0, 1],
        }
    )
    transfer = outcome.result.algorithms["transfer"]
    ((seed, students),) = transfer.left_out.items()
    ((student, teachers),) = students.items()
    assert (seed, teachers) == ("1", ["all"])
    assert student in transfer.trust
    assert transfer.trust[student].left_out == []  # of the first seed: it does not hide the other
    (problem,) = problem_lines(outcome.result)
    assert problem.startswith(f"Seed 1: {student} leaves out the mean")
    assert left_out(transfer, words_of()) == {student: "their mean (seed 1)"}


CONTROLS = ["standalone", "early_stopping", "averaged_alone", "alone-forest", "alone-ensemble",
            "most_common"]  # fmt: skip


def test_all_controls_stand_beside_the_algorithms(outcome):
    result, algorithms = outcome.result, outcome.result.algorithms
    assert result.controls == CONTROLS
    assert list(algorithms) == [*CONTROLS, "vpdl", "cycle"]
    assert algorithms["standalone"].gain == [0.0] * 3
    for name, figure in algorithms.items():
        assert list(figure.gain_over) == [one for one in CONTROLS if one != name]
        for control, over in figure.gain_over.items():
            assert over.mean == pytest.approx(figure.mva - algorithms[control].mva)
            assert over.gain == pytest.approx(
                np.subtract(figure.accuracy, algorithms[control].accuracy)
            )
        assert figure.mcg == pytest.approx(figure.mva - algorithms["standalone"].mva)
        assert figure.mva == pytest.approx(np.mean(figure.accuracy))


def test_every_algorithm_and_control_has_every_score(outcome):
    for figure in outcome.result.algorithms.values():
        assert {"accuracy", "balanced_accuracy", "auc", "sensitivity"} <= set(figure.metrics)
        assert {"specificity", "log_loss", "brier", "calibration_error"} <= set(figure.metrics)
        for score in figure.metrics.values():
            assert set(score.by_hospital) == {one.name for one in outcome.result.participants}
        assert figure.metrics["accuracy"].mean == pytest.approx(figure.mva, abs=1e-5)


@pytest.mark.parametrize(("metric", "sign"), [("log_loss", 1), ("accuracy", -1)])
def test_gains_are_over_the_control_that_is_best_by_the_metric(metric, sign):
    result = outcome_of(**{"run.metric": metric, "training.rounds": 1}).result
    means = {name: result.algorithms[name].metrics[metric].mean for name in CONTROLS}
    best = min(means, key=lambda name: sign * means[name])
    for name in ("vpdl", "cycle"):
        figure = result.algorithms[name]
        assert figure.best_control == best
        over = sign * (means[best] - figure.metrics[metric].mean)
        assert figure.gain_over_best_control[metric].mean == pytest.approx(over, abs=2e-5)


def test_a_ceiling_on_request_is_no_control():
    result = outcome_of(**{"run.ceiling": True, "training.rounds": 1}).result
    assert list(result.algorithms)[-1] == "pooled"
    assert result.controls == CONTROLS
    assert result.algorithm == "cycle"
    pooled, alone = (result.algorithms[name].metrics for name in ("pooled", "most_common"))
    assert pooled["log_loss"].mean < alone["log_loss"].mean


def test_participants_are_those_of_the_main_algorithm(outcome):
    result = outcome.result
    assert result.algorithm == "cycle"
    for n, one in enumerate(result.participants):
        figure = result.algorithms["cycle"]
        assert (one.accuracy, one.accuracy_spread) == pytest.approx(
            (figure.accuracy[n], figure.accuracy_spread[n])
        )
        assert (one.gain, one.gain_spread) == pytest.approx((figure.gain[n], figure.gain_spread[n]))
        assert one.gain == pytest.approx(one.accuracy - one.standalone_accuracy)
        assert one.samples == one.train_samples + one.test_samples


def test_rounds_are_those_of_the_first_seed(outcome):
    first = of_one_seed(0)
    assert [msgspec.structs.replace(one, seed=0) for one in first.rounds] == outcome.rounds
    assert {one.seed for one in outcome.further} == {1}
    last = {record.algorithm: record.accuracy for record in first.rounds}
    assert {name: figure.accuracy for name, figure in first.result.algorithms.items()} == last
    assert {figure.mva_spread for figure in first.result.algorithms.values()} == {0.0}


def test_spreads_are_standard_deviations_of_a_sample_of_seeds(outcome):
    each = [of_one_seed(seed).result.algorithms for seed in (0, 1)]
    for name, figure in outcome.result.algorithms.items():
        for what in ("mva", "mcg", "cgs"):
            first, second = (getattr(algorithms[name], what) for algorithms in each)
            spread = abs(first - second) / np.sqrt(2)  # divided by N - 1
            assert getattr(figure, f"{what}_spread") == pytest.approx(spread), (name, what)
        gains = np.array([algorithms[name].gain for algorithms in each])
        assert figure.gain_spread == pytest.approx(abs(gains[0] - gains[1]) / np.sqrt(2))
        for control, over in figure.gain_over.items():
            first, second = (algorithms[name].gain_over[control].mean for algorithms in each)
            assert over.mean_spread == pytest.approx(abs(first - second) / np.sqrt(2))
    assert outcome.result.algorithms["vpdl"].mva_spread > 0


def test_the_largest_error_is_that_of_the_worst_seed(monkeypatch):
    kept = []

    def listening(runs, **more):
        kept.append((runs, more))
        return conclude(runs, **more)

    monkeypatch.setattr(experiment, "conclude", listening)
    outcome_of(**{"run.seeds": [0, 1], "training.rounds": 1})
    ((repetitions, more),) = kept
    for repetition, error in zip(repetitions, (3e-5, 1e-5), strict=True):
        run = repetition.runs["cycle"]
        encryption = msgspec.structs.replace(
            run.encryption, max_abs_error=error, error_over_range=error / 2
        )
        repetition.runs["cycle"] = msgspec.structs.replace(run, encryption=encryption)
    facts = conclude(repetitions, **more).encryption
    assert (facts.max_abs_error, facts.error_over_range) == (3e-5, 1.5e-5)


def test_encryption_counts_all_seeds(outcome):
    facts = outcome.result.encryption
    assert facts.backend == "clear"
    assert facts.answers + facts.declines > sum(
        exchange.algorithm == "cycle" for exchange in outcome.exchanges
    )
    assert facts.seconds > 0


def test_everyone_alone_needs_no_second_control():
    result = outcome_of(**{"run.algorithms": ["standalone"]}).result
    assert list(result.algorithms) == ["standalone"]
    assert result.algorithms["standalone"].gain_over == {}
    assert result.controls == ["standalone"]
    assert result.encryption is None
