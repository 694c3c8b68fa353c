import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from securefair.errors import ConfigError
from securefair_lab.papers.algorithms.mean_estimation import (
    Estimates,
    cycle_lower_bound,
    fedavg_upper_bound,
    figure_8,
    figure_9,
    usefulness,
)

GRID = tuple(np.linspace(0, 5, 26).tolist())


def exact_fedavg(gap, deviation):
    """P(useful) by the normal distribution of X = b - a and Y = 3 a + b, both of mean `gap`.

    The average is no further from theta_1 = 0 than a is if X and Y have different signs.
    """
    joint = multivariate_normal(
        [gap, gap], np.array([[2, -2], [-2, 10]]) * deviation**2, allow_singular=False
    )
    both_negative = joint.cdf([0, 0])
    x_negative = multivariate_normal(gap, 2 * deviation**2).cdf(0)
    y_negative = multivariate_normal(gap, 10 * deviation**2).cdf(0)
    return x_negative + y_negative - 2 * both_negative


def test_reputation_and_results_by_hand():
    # d = ((b - a) / 2)^2: 0, 1, 1.5, 2, 4
    second = np.array([[0.0, 2.0, 2 * math.sqrt(1.5), 2 * math.sqrt(2), 4.0]])
    known = Estimates(np.zeros_like(second), second)
    assert known.reputation[0].tolist() == pytest.approx([1, 1, 0.5, 0, 0], abs=1e-12)
    first, other = known.cycle()
    assert first[0] == pytest.approx(second[0] * [0.5, 0.5, 0.25, 0, 0], abs=1e-12)
    assert other[0] == pytest.approx(second[0] * [0.5, 0.5, 0.75, 1, 1], abs=1e-12)
    assert (known.fedavg()[0] == second / 2).all()
    assert known.fedavg(0.75)[1] == pytest.approx(second / 4)


def test_usefulness_counts_what_is_no_further_from_the_truth():
    results, estimates = np.array([[1.0, -2.0, 3.0, 0.5]]), np.array([[1.0, 2.5, -2.0, 0.4]])
    assert usefulness(results, estimates, 0.0).tolist() == [0.5]
    assert usefulness(results, estimates, 1.0).tolist() == [0.75]


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_each_participants_result_is_between_both_estimates(a, b):
    known = Estimates(np.array([[a]]), np.array([[b]]))
    first, second = known.cycle()
    low, high = min(a, b) - 1e-9, max(a, b) + 1e-9
    assert low <= first <= high
    assert low <= second <= high
    assert first + second == pytest.approx(a + b, abs=1e-9)
    assert abs(first - a) <= abs(second - a) + 1e-9


@pytest.mark.parametrize("deviation", [0.3, 0.5, 1.0, 2.0])
def test_theorem_4_1_and_lemma_a_1_hold_on_the_whole_grid(deviation):
    found = figure_8(GRID, deviation=deviation)
    curve = found.cycle
    assert min(*curve.participant_1, *curve.participant_2) >= cycle_lower_bound(deviation)
    for u, v, bound in zip(
        found.fedavg.participant_1, found.fedavg.participant_2, found.fedavg_bound, strict=True
    ):
        assert max(u, v) <= bound + 0.02  # four standard errors


def test_the_bounds_by_hand():
    assert cycle_lower_bound(0.5) == pytest.approx(math.exp(-1) / 8)
    assert fedavg_upper_bound(4.0, 1.0) == pytest.approx(2 * math.exp(-0.8))
    assert fedavg_upper_bound(0.0, 1.0) == 1.0


@pytest.mark.parametrize(("gap", "deviation"), [(0.0, 1.0), (1.0, 1.0), (4.0, 1.0), (1.5, 0.3)])
def test_fedavg_agrees_with_the_exact_probability(gap, deviation):
    found = figure_8([gap], deviation=deviation, runs=200_000).fedavg
    exact = exact_fedavg(gap, deviation)
    error = 4 * math.sqrt(exact * (1 - exact) / 200_000)
    assert found.participant_1[0] == pytest.approx(exact, abs=error)
    assert found.participant_2[0] == pytest.approx(exact, abs=error)


def test_usefulness_is_not_monotone():
    # gamma = 0.3 and gamma_G = 0.75: hardly anyone is distrusted, and hardly anything is useful
    found = figure_8([0.0, 1.5, 5.0], deviation=0.3, runs=200_000)
    assert found.cycle.participant_1[1] == pytest.approx(0.081, abs=0.003)
    assert found.fedavg.participant_1[1] == pytest.approx(0.057, abs=0.003)
    assert found.cycle.participant_1[0] > 0.6
    assert found.cycle.participant_1[2] > 0.99


def test_figure_8_shows_what_the_paper_says():
    found = figure_8()
    assert len(found.gaps) == 51
    assert found.fedavg.participant_1[-1] < 0.1 < 0.6 < found.fedavg.participant_1[0]
    assert found.cycle.participant_1[-1] > 0.9
    below = [
        cycle < fedavg - 0.02
        for cycle, fedavg in zip(found.cycle.participant_1, found.fedavg.participant_1, strict=True)
    ]
    assert not any(below)


def test_figure_9_at_one_ratio_is_exact():
    # a and b normal of deviations s_1 and s_2: the average is useful to 1 iff -3 <= b/a <= 1, and
    # b/a is Cauchy of scale s_2/s_1 = sqrt(ratio); likewise to 2 with the inverse scale
    found = figure_9([4.0], samples_2=100, runs=200_000)
    for scale, u in ((2.0, found.fedavg.participant_1[0]), (0.5, found.fedavg.participant_2[0])):
        exact = (math.atan(1 / scale) + math.atan(3 / scale)) / math.pi
        assert u == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 200_000))
    # with 100 samples nobody is ever distrusted
    assert found.cycle.participant_1 == found.fedavg.participant_1
    # the variance of an average of N_1 + N_2 = 500 and of two means
    assert found.spreads[2].deviation[0] == pytest.approx(
        math.sqrt(5 / 400 + 5 / 100) / 2, rel=0.01
    )
    assert found.spreads[2].mean[0] == pytest.approx(0.0, abs=0.002)


def test_figure_9_shows_what_the_paper_says():
    found = figure_9()
    one, two, _ = found.spreads
    assert one.deviation[-1] < 0.5 * one.deviation[0]
    assert two.deviation[-1] == pytest.approx(two.deviation[0], rel=0.1)
    usefulness_1, usefulness_2 = found.cycle.participant_1, found.cycle.participant_2
    assert usefulness_1[-1] < usefulness_1[0] - 0.1
    assert usefulness_2[-1] > usefulness_1[-1] + 0.2
    assert found.fedavg.participant_1[-1] < usefulness_1[-1] - 0.1


def test_the_same_seed_gives_the_same_figure():
    assert figure_8(GRID, seed=3) == figure_8(GRID, seed=3) != figure_8(GRID, seed=4)
    assert figure_9([1.0], seed=3) == figure_9([1.0], seed=3) != figure_9([1.0], seed=4)


@pytest.mark.parametrize(
    ("draw", "named"),
    [
        (lambda: figure_8([]), "gaps"),
        (lambda: figure_8([float("nan")]), "gaps"),
        (lambda: figure_8(deviation=0.0), "deviation"),
        (lambda: figure_8(runs=0), "runs"),
        (lambda: figure_9([0.0]), "ratios"),
        (lambda: figure_9(samples_2=0), "samples_2"),
        (lambda: figure_9(variance=-1.0), "variance"),
    ],
)
def test_impossible_settings_are_refused_by_name(draw, named):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        draw()
