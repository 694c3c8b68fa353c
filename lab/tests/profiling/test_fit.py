import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import DataError
from securefair_lab.profiling.fit import linear_fit

NUMBERS = st.floats(-1e6, 1e6)


@given(fixed=NUMBERS, slope=NUMBERS)
def test_a_line_is_found_exactly(fixed: float, slope: float) -> None:
    xs = [0.0, 0.1, 0.5, 1.0]

    fit = linear_fit(xs, [fixed + slope * x for x in xs])

    scale = abs(fixed) + abs(slope) + 1
    assert fit.fixed == pytest.approx(fixed, abs=1e-9 * scale)
    assert fit.slope == pytest.approx(slope, abs=1e-9 * scale)


def test_r2_is_the_share_of_variance_that_the_line_explains() -> None:
    # By hand: slope 1/2, fixed 1/6; residuals 1/6, -1/3, 1/6 of a spread of 2/3.
    fit = linear_fit([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])

    assert (fit.fixed, fit.slope) == (pytest.approx(1 / 6), pytest.approx(0.5))
    assert fit.r2 == pytest.approx(1 - (1 / 6) / (2 / 3))


def test_equal_values_are_explained_by_a_flat_line() -> None:
    fit = linear_fit([0.0, 1.0], [3.0, 3.0])

    assert (fit.fixed, fit.slope, fit.r2) == (3.0, 0.0, 1.0)


def test_one_point_makes_no_line() -> None:
    with pytest.raises(DataError, match="two different points"):
        linear_fit([0.5, 0.5], [1.0, 2.0])
