import pytest

from securefair.errors import ConfigError
from securefair.model.optimizer import OptimizerConfig
from securefair_lab.algorithms.schedule import StepDecay, StepFactors, at_round

OPTIMIZER = OptimizerConfig(learning_rate=0.1)


@pytest.mark.parametrize(
    ("settings", "round", "rate"),
    [({}, 24, 0.1), ({}, 25, 0.01), ({}, 74, 0.001), ({"elapsed": 25}, 0, 0.01)],
)
def test_the_rate_falls_after_so_many_rounds(settings, round, rate):
    at = StepDecay(**settings).at(OPTIMIZER, round)
    assert at.learning_rate == pytest.approx(rate)
    assert at.momentum == OPTIMIZER.momentum


def test_without_a_schedule_nothing_changes():
    assert at_round(None, OPTIMIZER, 90) == OPTIMIZER


@pytest.mark.parametrize("settings", [{"every": 0}, {"factor": 0.0}, {"elapsed": -1}])
def test_settings_out_of_range_are_named(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        StepDecay(**settings)


@pytest.mark.parametrize(
    ("round", "rate"), [(0, 0.1), (19, 0.1), (20, 0.05), (40, 0.01), (99, 0.01)]
)
def test_each_cycle_has_its_factor_and_the_last_remains(round, rate):
    at = StepFactors(every=20, factors=(1.0, 0.5, 0.1)).at(OPTIMIZER, round)
    assert at.learning_rate == pytest.approx(rate)


@pytest.mark.parametrize("settings", [{"every": 0}, {"factors": ()}, {"factors": (1.0, 0.0)}])
def test_factors_out_of_range_are_named(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        StepFactors(**{"every": 1, "factors": (1.0,), **settings})
