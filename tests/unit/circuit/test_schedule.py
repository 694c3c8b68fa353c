import msgspec
import pytest

from securefair.circuit.packings.register import packing_of
from securefair.circuit.schedule import (
    LayerSteps,
    RescaleStep,
    Schedule,
    factors_meta,
)
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.ckks.parameters import CkksParameters, CkksSpec

SPEC = CkksSpec(ring_degree=8192, limb_bits=(31,) * 4, special_bits=31)
SCHEDULE = Schedule(
    ckks=SPEC,
    feature_scale=53.875,
    factor_scale=40.0,
    product_limbs=3,
    relinearize=True,
    flooding_bits=30,
    flooding_limbs=2,
    answer_limbs=1,
)


def test_features_travel_whole_and_factors_at_the_level_of_their_product():
    params = CkksParameters(SPEC)
    spec = ExchangeSpec(features=13, classes=2, samples=9, bounds=HeadBounds(feature=2.0))
    scale = SCHEDULE.feature_scale
    features = packing_of(SCHEDULE.packing).fresh(params, spec, log2_scale=scale, parts=1)
    assert (features.count, features.limbs) == (13, 4)
    assert (features.log2_scale, features.bound) == (53.875, 2.0)
    factors = factors_meta(params, SCHEDULE, count=3)
    assert (factors.count, factors.limbs) == (3, 3)
    assert (factors.log2_scale, factors.bound) == (40.0, 1.0)


@pytest.mark.parametrize("where", [(), ("stages", 0), ("stages", 0, "linear")], ids=str)
def test_a_schedule_with_a_field_that_nobody_knows_is_refused(where):
    step = RescaleStep(relinearize=False, limbs=4)
    stages = (LayerSteps(linear=step, square=None),)
    facts = msgspec.json.decode(
        msgspec.json.encode(msgspec.structs.replace(SCHEDULE, stages=stages))
    )
    assert msgspec.convert(facts, Schedule).stages == stages
    inner = facts
    for key in where:
        inner = inner[key]
    inner["paired"] = True
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert(facts, Schedule)
