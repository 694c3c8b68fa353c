"""Vectors are judged before anything is sent; only what a float can hold is accepted."""

import numpy as np
import pytest

from securefair.averaging import SumSpec, plan_sum
from securefair.averaging.spec import check_precision, check_vector, largest_magnitude
from securefair.errors import ModelError, PlanError


@pytest.fixture
def plan():
    return plan_sum("clear", SumSpec(parameters=4, senders=2, bound=2.0))


def test_the_range_is_inclusive(plan):
    check_vector(plan, np.array([2.0, -2.0, 0.0, 1e-300]))
    with pytest.raises(ModelError) as error:
        check_vector(plan, np.array([2.0, -2.0, 0.0, np.nextafter(2.0, 3.0)]))
    assert error.value.expected == "at most 2 in magnitude"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_every_kind_of_float_is_accepted(plan, dtype):
    check_vector(plan, np.ones(4, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.complex128, object])
def test_nothing_else_is(plan, dtype):
    with pytest.raises(ModelError, match="number or type"):
        check_vector(plan, np.ones(4, dtype=dtype))


def test_the_largest_magnitude_is_of_either_sign():
    assert largest_magnitude(np.array([1.0, -3.0])) == 3.0
    assert largest_magnitude(np.array([1.0, 3.0])) == 3.0
    assert np.isnan(largest_magnitude(np.array([1.0, np.nan, 2.0])))


def test_a_plan_that_does_not_grant_its_spec_is_refused(plan):
    from dataclasses import replace

    with pytest.raises(PlanError) as error:
        check_precision(replace(plan, error_bound=1.0))
    assert error.value.expected == "at least 0.5"


def test_sending_a_model_in_the_clear_takes_four_bytes_a_parameter(plan):
    assert plan.clear_bytes == 16 == plan.share_bytes


def test_whole_numbers_of_numpy_are_numbers():
    spec = SumSpec(parameters=np.int64(5), senders=np.int32(2))
    assert (
        plan_sum("masked", spec).digest
        == plan_sum("masked", SumSpec(parameters=5, senders=2)).digest
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("parameters", 5.5), ("parameters", "5"), ("bound", "2"), ("senders", None)],
)
def test_what_is_no_number_is_refused_by_name(field, value):
    with pytest.raises(PlanError) as refused:
        plan_sum("clear", SumSpec(**{"parameters": 4, "senders": 2} | {field: value}))
    assert refused.value.where == field


def test_a_list_is_no_vector(plan):
    with pytest.raises(ModelError, match=r"no array .*list"):
        check_vector(plan, [1.0, 1.0, 1.0, 1.0])
