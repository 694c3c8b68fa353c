"""What predictions are worth, in sentences."""

import msgspec
import pytest

from securefair.records import MetricResult
from securefair.report import scores, wording


def with_gains(result, **gains):
    """The result with log-loss gained over the best control, as (mean, se) by algorithm."""
    figures = dict(result.algorithms)
    for name, (mean, se) in gains.items():
        each = {"Cleveland": mean}
        gain = MetricResult(mean=mean, se=se, by_hospital=each, se_by_hospital={}, by_seed={})
        figures[name] = msgspec.structs.replace(
            figures[name], gain_over_best_control={"log_loss": gain}, best_control="standalone"
        )
    return msgspec.structs.replace(result, algorithms=figures)


@pytest.fixture
def told(make_run):
    run = make_run(algorithms=("standalone", "vpdl", "cycle"))

    def tell(**gains):
        return scores.worth(with_gains(run.result, **gains), wording.HOSPITALS)

    return tell


def test_a_collaboration_beside_the_last_one_is_told_of_as_well(told):
    first, second = told(cycle=(0.05, 0.01), vpdl=(-0.081, 0.024))
    assert first.startswith("Log-loss: CYCle is better than the best control (Alone) by 0.050")
    assert second == "Beside it: VPDL is worse than Alone by 0.081 \u00b1 0.024."


def test_chance_is_called_chance(told):
    first, second = told(cycle=(0.01, 0.01), vpdl=(-0.010, 0.010))
    assert first.endswith("that is within chance.")
    assert second.endswith("by 0.010 \u00b1 0.010, within chance.")


def test_equal_predictions_are_neither_better_nor_worse(told):
    (first,) = told(cycle=(0.0, 0.0))
    assert "CYCle is as good as the best control (Alone), better at 0 of 1" in first


def test_no_score_is_certain_because_all_of_few_are_right():
    sure = MetricResult(mean=1.0, se=0.0, by_hospital={}, se_by_hospital={}, interval=(0.676, 1.0))
    assert scores.cell(sure) == "1.000 [0.68, 1.00]"
    row = scores.ScoreRow("a", (scores.cell(sure),))
    assert "95 % interval" in scores.certain_note([row])
    ranked = msgspec.structs.replace(sure, interval=None)  # the AUC is no share of patients
    assert scores.cell(ranked) == "1.000"
    usual = msgspec.structs.replace(sure, mean=0.9, se=0.05)
    assert scores.cell(usual) == "0.900 \u00b1 0.050"
    assert scores.certain_note([scores.ScoreRow("a", (scores.cell(usual),))]) == ""


def test_controls_are_no_collaborations(told):
    assert len(told(cycle=(0.05, 0.01), standalone=(0.2, 0.1))) == 1
