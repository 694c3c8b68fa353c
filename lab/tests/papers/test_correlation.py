import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import securefair
from securefair.errors import DataError
from securefair_lab.papers.correlation import collaborative_fairness, pearson

paired = st.integers(2, 20).flatmap(
    lambda n: st.tuples(*[st.lists(st.floats(-1e3, 1e3), min_size=n, max_size=n)] * 2)
)


def test_by_hand():
    found = pearson([1, 2, 3, 4], [1, 3, 2, 4])
    assert found is not None
    assert found.coefficient == pytest.approx(0.8)
    assert found.p_value == pytest.approx(0.2)  # with 2 degrees of freedom p = 1 - |r|


@given(paired)
def test_agrees_with_scipy(pair):
    x, y = map(np.array, pair)
    # scipy loses digits, and warns, for nearly constant input
    assume(np.ptp(x) > 1e-3 * (1 + np.abs(x).max()) and np.ptp(y) > 1e-3 * (1 + np.abs(y).max()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.NearConstantInputWarning)
        expected = stats.pearsonr(x, y)
    ours = pearson(x, y)
    assert ours is not None
    assert ours.coefficient == pytest.approx(expected.statistic, abs=1e-9)
    assert ours.p_value == pytest.approx(expected.pvalue, abs=1e-4)


@given(paired, st.floats(0.1, 10), st.floats(-10, 10))
def test_symmetric_in_range_and_blind_to_units(pair, scale, shift):
    x, y = np.round(pair, 3)
    ours = pearson(x, y)
    if ours is None:
        assert len(set(x)) == 1 or len(set(y)) == 1
        return
    assert -1 <= ours.coefficient <= 1
    assert 0 <= ours.p_value <= 1
    for other in (pearson(y, x), pearson(x * scale + shift, y)):
        assert other is not None
        assert other.coefficient == pytest.approx(ours.coefficient, abs=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_extreme_spreads_survive(size):
    found = pearson(np.array([1, 2, 3, 4]) * size, [1, 3, 2, 4])
    assert found is not None
    assert found.coefficient == pytest.approx(0.8)


@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [2]), ([1, 1, 1], [1, 2, 3])])
def test_undefined_is_none_not_nan(x, y):
    assert pearson(x, y) is None
    assert pearson(y, x) is None


def test_two_participants_are_always_on_a_line():
    found = pearson([1, 2], [5, 3])
    assert found is not None
    assert found.coefficient == pytest.approx(-1.0)
    assert found.p_value == 1.0


def test_the_papers_example_of_a_fairness_that_only_looks_perfect():
    # CYCle, section 3: 60 % and 80 % alone, 70 % and 70.1 % together.
    fairness = collaborative_fairness([60, 80], [70, 70.1])
    assert fairness is not None
    assert fairness.coefficient == pytest.approx(1.0)


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2, 3]), ([1, np.nan], [1, 2]), (1.0, 2.0)])
def test_refuses_what_cannot_be_correlated(x, y):
    with pytest.raises(DataError):
        pearson(x, y)


def test_scipy_is_loaded_only_when_a_p_value_is_wanted():
    source = Path(securefair.__file__).parents[1]
    code = "import sys, securefair.worth; sys.exit('scipy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(source)}, check=False
    )
    assert done.returncode == 0
