"""Weighted sums: right within the planned error, the same refusals, for every implementation.

A new one joins by being registered; `ckks` joins once with each backend that computes on residues.
"""

import pickle
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from securefair.averaging import (
    AVERAGING,
    Gathering,
    Shares,
    SumPlan,
    SumSpec,
    WeightedSums,
    get_averaging,
    make_share,
    open_sum,
    plan_sum,
    release,
)
from securefair.averaging.ckks import CkksSums
from securefair.errors import (
    BackendUnavailableError,
    LocalProtocolError,
    ModelError,
    PlanError,
    RemoteProtocolError,
)

SESSION = bytes(range(32))
RECEIVER = "hospital"
BOUND = 4.0

VARIANTS = {**{name: name for name in AVERAGING}, "ckks on seal": "ckks"}


@cache
def make(variant):
    if variant == "ckks on seal":
        return CkksSums("seal")
    return get_averaging(variant)


@pytest.fixture(scope="session", params=sorted(VARIANTS))
def sums(request):
    try:
        return make(request.param)
    except BackendUnavailableError as error:
        pytest.skip(f"averaging {request.param} does not run here: {error}")


@pytest.fixture(scope="session")
def senders(sums):
    """Processes of CrypTen take seconds to start, one for each sender and one more."""
    return ("east", "west") if sums.name == "crypten" else ("east", "north", "south", "west")


def spec_of(parameters, senders, **changes):
    return SumSpec(**{"parameters": parameters, "senders": len(senders), "bound": BOUND} | changes)


@dataclass
class Crowd:
    """A receiver and its senders, with everybody's keys and the senders' memories."""

    sums: WeightedSums[Any, Any]
    plan: SumPlan
    senders: tuple[str, ...]
    memories: dict[str, Shares] = field(default_factory=dict)

    def __post_init__(self):
        everyone = (*self.senders, RECEIVER)
        self.keys = {name: self.sums.generate_keys(self.plan) for name in everyone}
        self.publics = {name: keys.public for name, keys in self.keys.items()}
        self.memories = {name: Shares() for name in self.senders}

    def gathering(self, round=0, senders=None):
        return Gathering.of(SESSION, round, RECEIVER, senders or self.senders)

    def ask(self, gathering, weights):
        return self.sums.ask(self.plan, self.keys[RECEIVER], gathering, weights)

    def make_share(self, gathering, sender, request, vector):
        self.memories[sender], closed = make_share(
            self.memories[sender],
            self.sums,
            self.plan,
            self.keys[sender],
            self.publics,
            gathering,
            sender,
            request,
            vector,
        )
        return closed

    def release(self, gathering, sender):
        self.memories[sender], key = release(self.memories[sender], gathering)
        return key

    def open(self, gathering, closed, keys):
        return open_sum(self.sums, self.plan, self.keys[RECEIVER], gathering, closed, keys)

    def gather(self, vectors, weights, round=0):
        gathering = self.gathering(round, tuple(vectors))
        requests = self.ask(gathering, weights)
        closed = {
            name: self.make_share(gathering, name, requests[name], vectors[name])
            for name in gathering.senders
        }
        keys = {name: self.release(gathering, name) for name in gathering.senders}
        return self.open(gathering, closed, keys)


def crowd_of(sums, senders, parameters=300, **changes):
    return Crowd(sums, plan_of(sums, spec_of(parameters, senders, **changes)), senders)


def plan_of(sums, spec):
    return sums.plan(spec)


def vectors_of(senders, parameters, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-BOUND, BOUND, parameters).astype(dtype) for name in senders}


def weights_of(senders, seed=0):
    """A row of a mixing matrix; what is left of it is the receiver's own."""
    row = np.random.default_rng(seed).dirichlet(np.ones(len(senders) + 1))
    return dict(zip(senders, row.tolist(), strict=False))


def exact(vectors, weights):
    return sum(weights[name] * vectors[name].astype(np.float64) for name in vectors)


@pytest.fixture(scope="session")
def crowd(sums, senders):
    """One for all tests of the module; each uses rounds of its own."""
    return crowd_of(sums, senders)


# -- sums ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [1, 100, 4095, 4096, 4097, 9000])
def test_a_sum_is_right_within_the_stated_error(sums, senders, parameters):
    crowd = crowd_of(sums, senders, parameters)
    vectors, weights = vectors_of(senders, parameters), weights_of(senders)
    total = crowd.gather(vectors, weights)
    assert total.shape == (parameters,)
    assert total.dtype == np.float64
    assert np.abs(total - exact(vectors, weights)).max() <= crowd.plan.error_bound


def test_a_sum_of_several_chunks_is_right_within_the_stated_error(sums, senders):
    two = senders[:2]
    parameters = (1 << 18) + 5001
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


# -- rules that every sender keeps ---------------------------------------------------------------


def test_a_repeated_request_gets_the_same_bytes(crowd, senders):
    gathering = crowd.gathering(5)
    requests = crowd.ask(gathering, weights_of(senders))
    name = senders[0]
    first = crowd.make_share(gathering, name, requests[name], np.zeros(300))
    again = crowd.make_share(gathering, name, requests[name], np.ones(300))
    assert again == first
    assert crowd.release(gathering, name) == crowd.release(gathering, name)
    assert crowd.make_share(gathering, name, requests[name], np.ones(300)) == first


def test_a_sum_that_lost_a_sender_is_repeated_without_it(sums):
    senders = ("a", "b", "lost")
    crowd = crowd_of(sums, senders)
    vectors, weights = vectors_of(senders, 300), {"a": 0.5, "b": 0.25, "lost": 0.2}
    first = crowd.gathering()
    requests = crowd.ask(first, weights)
    before = {
        name: crowd.make_share(first, name, requests[name], vectors[name]) for name in ("a", "b")
    }

    second = replace(first, attempt=1, senders=("a", "b"))
    left = {name: weights[name] for name in second.senders}
    requests = crowd.ask(second, left)
    closed = {
        name: crowd.make_share(second, name, requests[name], vectors[name])
        for name in second.senders
    }
    assert all(closed[name] != before[name] for name in second.senders)
    for name in second.senders:  # the first attempt stays shut for ever
        with pytest.raises(RemoteProtocolError, match="not under way"):
            crowd.release(first, name)
    keys = {name: crowd.release(second, name) for name in second.senders}
    total = crowd.open(second, closed, keys)
    assert np.abs(total - exact({n: vectors[n] for n in left}, left)).max() <= (
        crowd.plan.error_bound
    )


def test_a_sum_that_was_opened_is_not_repeated(sums):
    senders = ("a", "b", "late")
    crowd = crowd_of(sums, senders)
    gathering = crowd.gathering()
    requests = crowd.ask(gathering, weights_of(senders))
    crowd.make_share(gathering, "a", requests["a"], np.ones(300))
    crowd.release(gathering, "a")
    second = replace(gathering, attempt=1, senders=("a", "b"))
    with pytest.raises(RemoteProtocolError, match="after one of this round was opened") as error:
        crowd.make_share(second, "a", requests["a"], np.ones(300))
    assert error.value.culprit == RECEIVER


@pytest.mark.parametrize(
    ("attempt", "left", "session", "words"),
    [
        (0, ("a", "b", "c"), SESSION, "same attempt"),
        (0, ("a", "b"), SESSION, "same attempt"),
        (1, ("a", "b", "d"), SESSION, "other senders"),
        (1, ("a", "b", "c"), SESSION, "other senders"),
        (1, ("a", "b"), bytes(32), "another session"),
    ],
)
def test_any_other_second_sum_of_a_round_is_refused(sums, attempt, left, session, words):
    crowd = crowd_of(sums, ("a", "b", "c"))
    gathering = crowd.gathering()
    requests = crowd.ask(gathering, weights_of(("a", "b", "c")))
    crowd.make_share(gathering, "a", requests["a"], np.ones(300))
    memory = crowd.memories["a"]
    other = Gathering.asked(session, 0, attempt, RECEIVER, left)
    request = crowd.ask(gathering, weights_of(("a", "b", "c"), seed=1))["a"]  # other bytes
    with pytest.raises(RemoteProtocolError, match=words) as error:
        crowd.make_share(other, "a", request, np.ones(300))
    assert error.value.culprit == RECEIVER
    assert crowd.memories["a"] is memory


def test_another_weight_for_the_same_sum_is_refused(crowd, senders):
    """Sums with two sets of weights would tell the senders' models apart."""
    gathering = crowd.gathering(6)
    name = senders[0]
    first = crowd.ask(gathering, weights_of(senders, seed=1))
    crowd.make_share(gathering, name, first[name], np.ones(300))
    second = crowd.ask(gathering, weights_of(senders, seed=2))
    with pytest.raises(RemoteProtocolError, match="same attempt"):
        crowd.make_share(gathering, name, second[name], np.ones(300))


def test_a_key_is_not_released_before_a_share(crowd, senders):
    with pytest.raises(RemoteProtocolError, match="not under way"):
        crowd.release(crowd.gathering(7), senders[0])


def test_who_is_no_sender_makes_no_share(crowd, senders):
    gathering = crowd.gathering(8)
    request = crowd.ask(gathering, weights_of(senders))[senders[0]]
    with pytest.raises(RemoteProtocolError, match="no sender"):
        make_share(
            Shares(),
            crowd.sums,
            crowd.plan,
            crowd.keys[RECEIVER],
            crowd.publics,
            gathering,
            "stranger",
            request,
            np.ones(300),
        )


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        (np.ones(299), "differ from the plan"),
        (np.ones(301), "differ from the plan"),
        (np.ones((300, 1)), "differ from the plan"),
        (np.ones(300, dtype=np.int64), "differ from the plan"),
        (np.r_[np.ones(299), np.nan], "not finite"),
        (np.r_[np.inf, np.ones(299)], "not finite"),
        (np.r_[np.ones(299), -np.inf], "not finite"),
        (np.r_[np.ones(299), BOUND * 1.001], "exceeds the planned range"),
        (np.r_[-BOUND * 1e9, np.ones(299)], "exceeds the planned range"),
    ],
)
def test_vectors_that_do_not_fit_are_refused_before_anything_is_sent(crowd, senders, vector, words):
    gathering = crowd.gathering(9)
    request = crowd.ask(gathering, weights_of(senders))[senders[0]]
    with pytest.raises(ModelError, match=words):
        crowd.make_share(gathering, senders[0], request, vector)
    assert crowd.memories[senders[0]].of(RECEIVER, 9) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"west": -0.1}, "no share"),
        ({"west": 1.1}, "no share"),
        ({"west": float("nan")}, "no share"),
        ({"west": 0.9, "east": 0.9}, "exceed the whole"),
        ({"stranger": 0.1}, "nobody else"),
    ],
)
def test_weights_that_are_no_shares_are_refused(crowd, senders, change, words):
    weights = dict.fromkeys(senders, 0.1) | change
    with pytest.raises(LocalProtocolError, match=words):
        crowd.ask(crowd.gathering(10), weights)


def test_a_missing_weight_is_refused(crowd, senders):
    with pytest.raises(LocalProtocolError, match="every sender needs a weight"):
        crowd.ask(crowd.gathering(10), dict.fromkeys(senders[1:], 0.1))


@pytest.mark.parametrize("change", ["empty", "short", "long"])
def test_a_request_of_the_wrong_length_blames_the_receiver(crowd, senders, change):
    gathering = crowd.gathering(11)
    request = crowd.ask(gathering, weights_of(senders))[senders[0]]
    bad = {"empty": b"", "short": request[:-1], "long": request + b"\0"}[change]
    with pytest.raises(RemoteProtocolError, match="wrong length") as error:
        crowd.make_share(gathering, senders[0], bad, np.ones(300))
    assert error.value.culprit == RECEIVER


def test_a_request_of_damaged_bytes_blames_the_receiver(crowd, senders):
    gathering = crowd.gathering(12)
    with pytest.raises(RemoteProtocolError) as error:
        crowd.make_share(gathering, senders[0], b"\xff" * crowd.plan.request_bytes, np.ones(300))
    assert error.value.culprit == RECEIVER


def test_a_message_of_the_wrong_length_blames_its_sender(crowd, senders):
    gathering = crowd.gathering(13)
    messages = dict.fromkeys(senders, bytes(crowd.plan.share_bytes))
    messages[senders[1]] += b"\0"
    with pytest.raises(RemoteProtocolError, match="wrong length") as error:
        crowd.open(gathering, messages, dict.fromkeys(senders, bytes(32)))
    assert error.value.culprit == senders[1]


def test_a_key_of_the_wrong_length_blames_its_sender(crowd, senders):
    messages = dict.fromkeys(senders, bytes(crowd.plan.share_bytes))
    keys = dict.fromkeys(senders, bytes(32)) | {senders[1]: bytes(31)}
    with pytest.raises(RemoteProtocolError, match="key of the wrong length") as error:
        crowd.open(crowd.gathering(14), messages, keys)
    assert error.value.culprit == senders[1]


@pytest.mark.parametrize("what", ["message", "key"])
def test_an_incomplete_sum_is_not_opened(crowd, senders, what):
    messages = dict.fromkeys(senders, bytes(crowd.plan.share_bytes))
    keys = dict.fromkeys(senders, bytes(32))
    del (messages if what == "message" else keys)[senders[0]]
    with pytest.raises(LocalProtocolError, match=f"lacks a {what}"):
        crowd.open(crowd.gathering(15), messages, keys)


# -- plans and keys ------------------------------------------------------------------------------


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
