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


def test_controls_are_no_collaborations(told):
    assert len(told(cycle=(0.05, 0.01), standalone=(0.2, 0.1))) == 1
