import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.circuit.spec import MAX_BOUND, MAX_SIZE, ExchangeSpec, HeadBounds, check_spec
from securefair.errors import PlanError

PLAIN = ExchangeSpec(features=13, classes=2, samples=200)


def changed(**changes):
    return msgspec.structs.replace(PLAIN, **changes)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"features": 0}, "features"),
        ({"features": -3}, "features"),
        ({"classes": 0}, "classes"),
        ({"samples": 1}, "samples"),
        ({"samples": 1, "release": "loss"}, "samples"),
        ({"samples": 0, "release": "logits"}, "samples"),
        ({"samples": MAX_SIZE + 1}, "samples"),
        ({"hidden": -1}, "hidden"),
        ({"q": 0}, "q"),
        ({"q": 200}, "q"),
        ({"q": 1000}, "q"),
        ({"flooding_bits": -1}, "flooding_bits"),
        ({"flooding_bits": 61}, "flooding_bits"),
        ({"precision": 0.0}, "precision"),
        ({"precision": 0.6}, "precision"),
        ({"precision": 2.0**-41}, "precision"),
        ({"precision": math.nan}, "precision"),
        ({"weight_bits": 1}, "weight_bits"),
        ({"weight_bits": 22}, "weight_bits"),
        ({"features": 513, "weight_bits": 13}, "weight_bits"),
        ({"hidden": 1024}, "weight_bits"),
        ({"release": "model"}, "release"),
        ({"basis": "teacher"}, "basis"),
    ],
)
def test_what_no_parameters_grant_is_refused_by_field(changes, where):
    with pytest.raises(PlanError) as error:
        check_spec(changed(**changes))
    assert error.value.where == where
    assert error.value.expected is not None


@pytest.mark.parametrize("field", HeadBounds.__struct_fields__)
@pytest.mark.parametrize(
    "value", [0.0, -1.0, math.nan, math.inf, -math.inf, 2 * MAX_BOUND, 0.5 / MAX_BOUND]
)
def test_bounds_that_bound_nothing_are_refused_by_name(field, value):
    bounds = msgspec.structs.replace(HeadBounds(), **{field: value})
    with pytest.raises(PlanError) as error:
        check_spec(changed(bounds=bounds))
    assert error.value.where == f"bounds.{field}"


@pytest.mark.parametrize("q", [200, 5000])
def test_numbers_that_amount_to_the_logits_are_refused_with_a_way_out(q):
    with pytest.raises(PlanError, match="as much as the logits") as error:
        check_spec(changed(q=q))
    assert "q = 100" in error.value.hint
    assert "logits" in error.value.hint


@pytest.mark.parametrize("release", ["loss", "class_sums", "logits"])
def test_only_projections_count_their_rows(release):
    check_spec(changed(release=release, q=64, samples=2))


def test_widths_for_which_sums_stay_exact_are_accepted():
    check_spec(changed(features=512, hidden=64))
    check_spec(changed(features=512, hidden=0))


@pytest.mark.parametrize(
    ("changes", "predictions", "multiplies", "student"),
    [
        ({"release": "loss"}, True, True, False),
        ({"release": "class_sums"}, True, True, False),
        ({"release": "projection"}, False, False, False),
        ({"release": "projection", "basis": "student"}, False, True, True),
        ({"release": "logits"}, False, False, False),
        ({"release": "logits", "basis": "student"}, False, False, False),
    ],
)
def test_what_a_release_needs(changes, predictions, multiplies, student):
    spec = changed(**changes)
    assert spec.sends_predictions is predictions
    assert spec.multiplies is multiplies
    assert spec.student_basis is student


@given(
    features=st.integers(1, 500),
    size=st.floats(0.01, 100),
    norm=st.none() | st.floats(0.01, 100),
    row=st.floats(0.1, 10),
)
def test_hidden_values_are_bounded_by_cauchy_and_schwarz(features, size, norm, row):
    bounds = HeadBounds(feature=size, feature_norm=norm, row_norm=row)
    spec = changed(features=features, bounds=bounds)
    longest = size * math.sqrt(features) if norm is None else norm
    assert spec.feature_norm == pytest.approx(longest)
    # Weights along the features, the bias along the appended one.
    assert spec.hidden_bound == pytest.approx(row * math.hypot(longest, 1))


def test_a_spec_survives_the_wire_unchanged():
    spec = changed(release="class_sums", bounds=HeadBounds(feature=2.5, feature_norm=3.0))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(spec), type=ExchangeSpec) == spec


def test_whole_numbers_of_numpy_are_whole_numbers():
    names = ["features", "classes", "samples", "hidden", "q"]
    names += ["flooding_bits", "weight_bits", "answers"]
    plain = ExchangeSpec(**dict.fromkeys(names, 8))
    spec = ExchangeSpec(**dict.fromkeys(names, np.int64(8)))
    assert spec == plain
    assert {type(getattr(spec, name)) for name in names} == {int}
    assert type(msgspec.structs.replace(spec, samples=np.uint8(9)).samples) is int


def test_several_hidden_layers_are_refused_with_the_reason():
    with pytest.raises(PlanError, match=r"hidden: a head has one hidden layer.*\(32, 16\)"):
        check_spec(changed(hidden=(32, 16)))


def test_the_logits_of_one_sample_may_be_asked_for():
    check_spec(changed(release="logits", samples=1))


@pytest.mark.parametrize("features", ["8", 8.0])
def test_what_is_counted_is_whole(features):
    with pytest.raises(PlanError, match="features: this is not a whole number"):
        check_spec(ExchangeSpec(features=features, classes=2, samples=100))
