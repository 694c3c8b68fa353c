"""Weighted sums: right within the planned error, the same refusals, for every implementation.

A new one joins by being registered; `ckks` joins once with each backend that computes on residues.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from contract.crowd import (
    BOUND,
    RECEIVER,
    crowd_of,
    exact,
    plan_of,
    spec_of,
    vectors_of,
    weights_of,
)
from securefair.averaging import SumSpec, ckks_plan, plan_sum, streams
from securefair.errors import (
    PlanError,
    RemoteProtocolError,
)


@pytest.mark.parametrize("parameters", [1, 100, 4095, 4096, 4097, 9000])
def test_a_sum_is_right_within_the_stated_error(sums, senders, parameters):
    crowd = crowd_of(sums, senders, parameters)
    vectors, weights = vectors_of(senders, parameters), weights_of(senders)
    total = crowd.gather(vectors, weights)
    assert total.shape == (parameters,)
    assert total.dtype == np.float64
    assert np.abs(total - exact(vectors, weights)).max() <= crowd.plan.error_bound


def test_a_sum_of_several_chunks_is_right_within_the_stated_error(sums, senders, monkeypatch):
    """Chunks of a sixteenth: a whole one, and one of a whole ciphertext and a part."""
    monkeypatch.setattr(streams, "CHUNK", streams.CHUNK // 16)
    monkeypatch.setattr(ckks_plan, "BLOCK", ckks_plan.BLOCK // 16)
    two = senders[:2]
    parameters = streams.CHUNK + 5001
    crowd = crowd_of(sums, two, parameters)
    vectors, weights = vectors_of(two, parameters, dtype=np.float32), weights_of(two)
    total = crowd.gather(vectors, weights)
    assert np.abs(total - exact(vectors, weights)).max() <= crowd.plan.error_bound


@pytest.mark.parametrize("precision", [2.0**-10, 2.0**-16, 2.0**-20])
def test_the_stated_error_is_within_the_spec(sums, senders, precision):
    plan = plan_of(sums, spec_of(10, senders, precision=precision))
    assert plan.error_bound <= precision * BOUND


@pytest.mark.parametrize(
    ("round", "value", "weight"),
    [(20, BOUND, 1.0), (21, -BOUND, 1.0), (22, 0.0, 1.0), (23, BOUND, 0.0), (24, 1e-30, 0.5)],
)
def test_a_sum_at_the_ends_of_the_range_does_not_wrap_around(crowd, senders, round, value, weight):
    vectors = {name: np.full(300, value) for name in senders}
    weights = dict.fromkeys(senders, weight / len(senders))
    total = crowd.gather(vectors, weights, round)
    assert np.abs(total - value * weight).max() <= crowd.plan.error_bound


def test_all_of_a_sum_may_be_one_senders(crowd, senders):
    """Weights are the receiver's business; what that means for privacy is in the docs."""
    vectors = vectors_of(senders, 300, seed=3)
    weights = {name: float(name == senders[0]) for name in senders}
    total = crowd.gather(vectors, weights, round=2)
    assert np.abs(total - vectors[senders[0]]).max() <= crowd.plan.error_bound


def test_fewer_senders_than_planned_may_take_part(sums):
    senders = ("a", "b", "c", "d", "e")
    crowd = crowd_of(sums, senders)
    vectors, weights = vectors_of(("b", "e"), 300), {"b": 0.25, "e": 0.5}
    total = crowd.gather(vectors, weights)
    assert np.abs(total - exact(vectors, weights)).max() <= crowd.plan.error_bound


def test_vectors_stay_as_they_were(crowd, senders):
    vectors = vectors_of(senders, 300, seed=1)
    before = {name: vector.copy() for name, vector in vectors.items()}
    for vector in vectors.values():
        vector.flags.writeable = False
    crowd.gather(vectors, weights_of(senders), round=3)
    assert all((vectors[name] == before[name]).all() for name in senders)


def test_bytes_are_what_the_plan_states(crowd, senders):
    gathering = crowd.gathering(4)
    requests = crowd.ask(gathering, weights_of(senders))
    assert {len(request) for request in requests.values()} == {crowd.plan.request_bytes}
    vectors = vectors_of(senders, 300)
    for name in senders:
        closed = crowd.make_share(gathering, name, requests[name], vectors[name])
        assert len(closed) == crowd.plan.share_bytes
        assert len(crowd.keys[name].public) == crowd.plan.public_key_bytes


# -- plans and keys --------------------------------------------------------------------------------


def test_a_public_part_that_would_spoil_sums_is_refused_when_it_arrives(crowd, senders):
    sums, plan, keys = crowd.sums, crowd.plan, crowd.keys[RECEIVER]
    sums.check_public(plan, keys, senders[0], crowd.publics[senders[0]])
    unusable = [crowd.publics[senders[0]] + b"\0"]
    if plan.public_key_bytes:  # a point of low order
        unusable.append(crowd.publics[senders[0]][:-32] + bytes(32))
    for public in unusable:
        with pytest.raises(RemoteProtocolError) as error:
            sums.check_public(plan, keys, senders[0], public)
        assert error.value.culprit == senders[0]


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": 0},
        {"senders": 1},
        {"bound": 0.0},
        {"bound": float("nan")},
        {"precision": 0.0},
        {"precision": 1.0},
        {"flooding_bits": 61},
        {"max_share": 0.1},
        {"max_share": 1.0},
    ],
)
def test_specs_out_of_range_name_the_field(sums, senders, change):
    spec = SumSpec(**{"parameters": 10, "senders": len(senders)} | change)
    for planning in (sums.plan, lambda spec: plan_sum(sums.name, spec)):
        with pytest.raises(PlanError) as error:
            planning(spec)
        assert error.value.where == next(iter(change))


def test_plans_have_a_digest_that_tells_them_apart(sums, senders):
    specs = [spec_of(10, senders), spec_of(11, senders), spec_of(10, senders, bound=5.0)]
    assert len({plan_of(sums, spec).digest for spec in specs}) == 3
    assert plan_of(sums, specs[0]).digest == plan_of(sums, spec_of(10, senders)).digest


@pytest.mark.parametrize("spare", [1, 2])
def test_a_digest_covers_the_format_of_numbers(sums, senders, spare):
    """Sums of two formats of one size would be wrong, and no check on lengths would tell."""
    plan = plan_of(sums, spec_of(10, senders))
    other = {
        "masked": lambda: {"fixed": replace(plan.fixed, log2_scale=plan.fixed.log2_scale - spare)},
        "crypten": lambda: {"fixed": replace(plan.fixed, log2_scale=plan.fixed.log2_scale - spare)},
        "ckks": lambda: {"log2_factor": plan.log2_factor - spare},
        "clear": lambda: {"float_bytes": 4 + 4 * spare},
    }[sums.name]()
    assert replace(plan, **other).digest != plan.digest
    assert replace(plan).digest == plan.digest


def test_plan_sum_plans_by_name(sums, senders):
    spec = spec_of(10, senders)
    assert plan_sum(sums.name, spec).digest == plan_of(sums, spec).digest


def test_keys_print_nothing_and_cannot_be_pickled(crowd, senders):
    keys = crowd.keys[senders[0]]
    assert "redacted" in repr(keys)
    if crowd.plan.public_key_bytes:
        with pytest.raises((TypeError, AttributeError, RuntimeError)):
            pickle.dumps(keys)
        assert keys.public not in pickle.dumps(repr(keys))
