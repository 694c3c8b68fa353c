"""What could be granted instead."""

import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import HeadBounds
from securefair.errors import PlanError
from securefair.profiling.nearest import nearest_plan

pytestmark = pytest.mark.slow


def refused(spec):
    with pytest.raises(PlanError) as caught:
        plan_exchange(spec)
    return caught.value


def test_a_precision_that_is_too_fine_is_made_as_coarse_as_it_must_be(spec):
    asked = spec(release="logits", precision=2.0**-40, flooding_bits=60)
    field, plan = nearest_plan(asked, refused(asked))
    assert field == "precision"
    assert asked.precision < plan.spec.precision < 2 * plan.relative_error


def test_flooding_gives_way_where_no_precision_would_do(spec):
    asked = spec(release="logits", flooding_bits=60, bounds=HeadBounds(feature=2.0**20))
    error = PlanError("impossible", where="precision", expected="at least 9e+02")
    field, plan = nearest_plan(asked, error)
    assert field == "flooding_bits"
    assert 30 <= plan.spec.flooding_bits < 60


def test_as_many_numbers_as_possible(spec):
    asked = spec(q=4000)
    field, plan = nearest_plan(asked, refused(asked))
    assert (field, plan.spec.q) == ("q", asked.samples - 1)
    crowd = spec(q=4000, samples=4096)
    try:
        plan_exchange(crowd)
    except PlanError as refusal:
        _, plan = nearest_plan(crowd, refusal)
        more = spec(q=plan.spec.q + 1, samples=4096)
        refused(more)


def test_weights_get_the_bits_that_stay_exact(spec):
    asked = spec(features=5000, weight_bits=14)
    field, plan = nearest_plan(asked, refused(asked))
    assert (field, plan.spec.weight_bits) == ("weight_bits", 9)


def test_sizes_move_to_the_closer_end_of_their_range(spec):
    asked = spec(features=0)
    field, plan = nearest_plan(asked, refused(asked))
    assert (field, plan.spec.features) == ("features", 1)


def test_an_unknown_release_has_no_neighbour(spec):
    asked = spec(release="weights")
    assert nearest_plan(asked, refused(asked)) is None
