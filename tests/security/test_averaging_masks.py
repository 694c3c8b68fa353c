"""Masked sums: a message says nothing alone, and nobody can be tricked into using a mask twice.

Adversaries: a curious receiver, which holds all messages; curious senders that tell it what they
know; a malicious receiver that lies about rounds, senders or weights. Protected: every sender's
parameters, as long as one other sender of the sum keeps its secret. Still disclosed: the sum, and
with it everything that the colluding senders' own parts leave of it; to each sender its weight.
"""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from securefair.averaging import (
    Gathering,
    Shares,
    SumSpec,
    make_share,
    open_sum,
    release,
    streams,
)
from securefair.averaging.masked import MaskedKeys, MaskedSums, add_masks
from securefair.averaging.pairwise import pair_masks, public_bytes
from securefair.errors import LocalProtocolError, RemoteProtocolError

SESSION = bytes(range(32))
NAMES = ("a", "b", "c", "d")
PARAMETERS = 40_000
SUMS = MaskedSums()

precisions = pytest.mark.parametrize("precision", [2.0**-16, 2.0**-45], ids=["32 bits", "64 bits"])


def keys_of(seed):
    private = X25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    return MaskedKeys(public=public_bytes(private), private=private)


KEYS = {name: keys_of(seed + 1) for seed, name in enumerate((*NAMES, "r", "s"))}
PUBLICS = {name: keys.public for name, keys in KEYS.items()}


def plan_of(precision=2.0**-16, **changes):
    return SUMS.plan(
        SumSpec(parameters=PARAMETERS, senders=4, bound=4.0, precision=precision, **changes)
    )


def gathering_of(senders=NAMES, **changes):
    return Gathering(
        **{"session": SESSION, "round": 0, "receiver": "r", "senders": senders} | changes
    )


def words(plan, gathering, sender, vector, weights=None):
    """One unsealed message: more than a receiver sees before all keys are released."""
    weights = weights or dict.fromkeys(gathering.senders, 1 / len(gathering.senders))
    request = SUMS.ask(plan, KEYS["r"], gathering, weights)[sender]
    message = SUMS.message(plan, KEYS[sender], PUBLICS, gathering, sender, request, vector)
    return np.frombuffer(message, dtype=plan.fixed.word)


def vector_of(seed, parameters=PARAMETERS):
    """Parameters as of a network: most of them small."""
    return np.clip(np.random.default_rng(seed).normal(0, 0.1, parameters), -4, 4)


def looks_random(message, uniform):
    """Bytes and whole words uniform, and no word like the next."""
    width = 2.0 ** (8 * message.itemsize)
    if not (uniform(np.frombuffer(message.tobytes(), np.uint8), 256) and uniform(message, width)):
        return False
    scaled = message / width
    return abs(np.corrcoef(scaled[:-1], scaled[1:])[0, 1]) < 6.5 / np.sqrt(len(message))


# -- one message ---------------------------------------------------------------------------------


@precisions
@pytest.mark.parametrize("sender", NAMES)
@pytest.mark.parametrize("kind", ["zeros", "constant", "network"])
def test_a_message_alone_looks_random(uniform, precision, sender, kind):
    plan = plan_of(precision)
    vector = {
        "zeros": np.zeros(PARAMETERS),
        "constant": np.full(PARAMETERS, 4.0),
        "network": vector_of(1),
    }[kind]
    assert looks_random(words(plan, gathering_of(), sender, vector), uniform)


def test_the_statistics_tell_an_unmasked_message(uniform):
    """What the tests above would say if masks were missing, one word long, or repeated."""
    plan = plan_of()
    assert not looks_random(plan.fixed.encode(vector_of(1), 0.25), uniform)
    assert not looks_random(plan.fixed.encode(np.zeros(PARAMETERS), 0.25) + np.uint32(7), uniform)
    twice = np.random.default_rng(0).integers(0, 1 << 32, PARAMETERS // 2, dtype=np.uint32)
    assert not looks_random(np.repeat(twice, 2), uniform)


@precisions
def test_a_message_does_not_correlate_with_the_parameters(precision):
    plan, vector = plan_of(precision), vector_of(2)
    message = words(plan, gathering_of(), "b", vector).astype(np.float64)
    assert abs(np.corrcoef(message, vector)[0, 1]) < 6.5 / np.sqrt(PARAMETERS)
    assert abs(np.corrcoef(message, np.abs(vector))[0, 1]) < 6.5 / np.sqrt(PARAMETERS)
    # And the sign bit is no help either.
    signs = message >= 2.0 ** (plan.fixed.word_bits - 1)
    assert abs(np.corrcoef(signs, vector < 0)[0, 1]) < 6.5 / np.sqrt(PARAMETERS)


def test_messages_without_one_sender_look_random_together(uniform):
    """Three of four messages, added up: what the fourth's masks still hide."""
    plan, gathering = plan_of(), gathering_of()
    messages = {name: words(plan, gathering, name, vector_of(3)) for name in NAMES}
    for left_out in NAMES:
        some = sum(messages[name] for name in NAMES if name != left_out)
        assert looks_random(some.astype(np.uint32), uniform)


# -- fresh masks ---------------------------------------------------------------------------------


@precisions
def test_whatever_changes_about_a_sum_changes_every_mask(uniform, precision):
    plan, vector = plan_of(precision), vector_of(4)
    quarter = dict.fromkeys(NAMES, 0.25)
    gatherings = [
        gathering_of(),
        gathering_of(round=1),
        gathering_of(receiver="s"),
        gathering_of(attempt=1),
        gathering_of(session=bytes(32)),
        gathering_of(("a", "b", "c")),
        gathering_of(("a", "b")),
    ]
    messages = [
        words(plan, each, "a", vector, {name: quarter[name] for name in each.senders})
        for each in gatherings
    ]
    for one, other in combinations(messages, 2):
        # The same vector and weight: all that differs between two messages are the masks.
        assert (one == other).mean() < 0.001
        assert looks_random(one - other, uniform)


def test_a_changed_set_of_senders_changes_the_mask_of_every_pair():
    """Not only the sum of a sender's masks, which changes with any one of them."""
    context = plan_of().digest
    keys = [
        {m.peer: m.key for m in pair_masks(KEYS["a"].private, PUBLICS, each, "a", context)}
        for each in (
            gathering_of(),
            gathering_of(("a", "b", "c")),
            gathering_of(("a", "b")),
            gathering_of(attempt=1),
            gathering_of(round=1),
        )
    ]
    drawn = [key for one in keys for key in one.values()]
    assert len(set(drawn)) == len(drawn) == 3 + 2 + 1 + 3 + 3


def test_no_part_of_a_message_shares_its_masks_with_another(uniform, monkeypatch):
    """Parameters are worked on in chunks: two under one mask would show their difference."""
    monkeypatch.setattr(streams, "CHUNK", PARAMETERS // 4)
    message = words(plan_of(), gathering_of(), "a", np.zeros(PARAMETERS))
    parts = message.reshape(4, -1)
    for one, other in combinations(parts, 2):
        assert (one == other).mean() < 0.001
        assert looks_random(one - other, uniform)


def test_asking_twice_gets_the_same_bytes_and_no_second_sample():
    plan, gathering, memory = plan_of(), gathering_of(), Shares()
    request = SUMS.ask(plan, KEYS["r"], gathering, dict.fromkeys(NAMES, 0.25))["a"]
    arguments = (SUMS, plan, KEYS["a"], PUBLICS, gathering, "a", request)
    memory, first = make_share(memory, *arguments, vector_of(1))
    memory, again = make_share(memory, *arguments, vector_of(2))
    assert first == again


@pytest.mark.parametrize("senders", [(), ("a",)])
def test_a_single_sender_is_refused(senders):
    with pytest.raises(LocalProtocolError, match="at least 2"):
        gathering_of(senders)
    with pytest.raises(RemoteProtocolError, match="no sum to gather") as error:
        Gathering.asked(SESSION, 0, 0, "r", senders)
    assert error.value.culprit == "r"


# -- lost senders --------------------------------------------------------------------------------


class Lossy:
    """A sum over a, b and late; the message of late arrives after the sum was repeated."""

    def __init__(self):
        self.plan = plan_of()
        self.first = gathering_of(("a", "b", "late"))
        self.second = replace(self.first, attempt=1, senders=("a", "b"))
        self.keys = {**KEYS, "late": keys_of(99)}
        self.publics = {name: keys.public for name, keys in self.keys.items()}
        self.vectors = {name: vector_of(i) for i, name in enumerate(self.first.senders)}
        self.weights = dict.fromkeys(self.first.senders, 0.25)
        self.memories = {name: Shares() for name in self.first.senders}
        self.closed = {
            attempt: {name: self.make_share(attempt, name) for name in attempt.senders}
            for attempt in (self.first, self.second)
        }

    def make_share(self, gathering, sender):
        weights = {name: self.weights[name] for name in gathering.senders}
        request = SUMS.ask(self.plan, self.keys["r"], gathering, weights)[sender]
        self.memories[sender], closed = make_share(
            self.memories[sender],
            SUMS,
            self.plan,
            self.keys[sender],
            self.publics,
            gathering,
            sender,
            request,
            self.vectors[sender],
        )
        return closed

    def open(self, gathering, keys):
        return open_sum(SUMS, self.plan, self.keys["r"], gathering, self.closed[gathering], keys)


@pytest.fixture(scope="module")
def lossy():
    return Lossy()


def test_the_attack_two_sums_that_differ_by_a_late_sender_are_its_model(lossy):
    """What the rule is for: without keys a curious receiver would only have to subtract."""
    unsealed = {
        attempt: {
            name: SUMS.message(
                lossy.plan,
                lossy.keys[name],
                lossy.publics,
                attempt,
                name,
                SUMS.ask(
                    lossy.plan,
                    lossy.keys["r"],
                    attempt,
                    dict.fromkeys(attempt.senders, 0.25),
                )[name],
                lossy.vectors[name],
            )
            for name in attempt.senders
        }
        for attempt in (lossy.first, lossy.second)
    }
    totals = {
        attempt: SUMS.total(lossy.plan, lossy.keys["r"], attempt, messages)
        for attempt, messages in unsealed.items()
    }
    stolen = (totals[lossy.first] - totals[lossy.second]) / 0.25
    assert np.abs(stolen - lossy.vectors["late"]).max() < 1e-6


def test_the_first_sum_stays_shut_when_it_was_repeated(lossy, uniform):
    """The receiver has all three messages of the first attempt, and the late sender's key."""
    released = {"late": release(lossy.memories["late"], lossy.first)[1]}
    for name in ("a", "b"):
        with pytest.raises(RemoteProtocolError, match="not under way"):
            release(lossy.memories[name], lossy.first)
    with pytest.raises(LocalProtocolError, match="lacks a key"):
        lossy.open(lossy.first, released)
    for name in ("a", "b"):  # closed a second time, under a key that never leaves
        message = np.frombuffer(lossy.closed[lossy.first][name], dtype=np.uint32)
        assert looks_random(message, uniform)
    keys = {name: release(lossy.memories[name], lossy.second)[1] for name in ("a", "b")}
    expected = 0.25 * (lossy.vectors["a"] + lossy.vectors["b"])
    assert np.abs(lossy.open(lossy.second, keys) - expected).max() <= lossy.plan.error_bound


def test_a_receiver_that_tells_senders_different_stories_opens_neither_sum():
    """To a: all have arrived. To b: late is lost. Each sum lacks the key of one of them."""
    lossy = Lossy()
    memories = {name: Shares() for name in lossy.first.senders}
    lossy.memories = memories
    lossy.closed = {lossy.first: {n: lossy.make_share(lossy.first, n) for n in "ab"}}
    memories["a"], _ = release(memories["a"], lossy.first)
    lossy.make_share(lossy.second, "b")
    with pytest.raises(RemoteProtocolError, match="after one of this round was opened"):
        lossy.make_share(lossy.second, "a")
    with pytest.raises(RemoteProtocolError, match="not under way"):
        release(memories["b"], lossy.first)


# -- collusion -----------------------------------------------------------------------------------


def peeled(plan, gathering, victim, message, colluders):
    """A message without the masks that colluding senders share with its sender."""
    bare = message.copy()
    for colluder in colluders:
        masks = pair_masks(KEYS[colluder].private, PUBLICS, gathering, colluder, plan.digest)
        add_masks(bare, [mask for mask in masks if mask.peer == victim], 0)  # the opposite sign
    return bare


def test_a_receiver_and_all_other_senders_together_learn_a_model():
    """Stated, not prevented: the sum minus what they know is the model."""
    plan, gathering, vector = plan_of(), gathering_of(), vector_of(5)
    message = words(plan, gathering, "b", vector)
    bare = peeled(plan, gathering, "b", message, ("a", "c", "d"))
    stolen = np.empty(PARAMETERS)
    plan.fixed.decode(bare, stolen)
    assert np.abs(stolen / 0.25 - vector).max() < 1e-6


def test_one_honest_sender_more_hides_it_behind_its_own(uniform):
    """With c and d on the receiver's side, a and b are known only by their sum."""
    plan, gathering = plan_of(), gathering_of()
    vectors = {"a": vector_of(6), "b": vector_of(7)}
    bare = {
        name: peeled(plan, gathering, name, words(plan, gathering, name, vector), ("c", "d"))
        for name, vector in vectors.items()
    }
    for message in bare.values():
        assert looks_random(message, uniform)
    both = np.empty(PARAMETERS)
    plan.fixed.decode(bare["a"] + bare["b"], both)
    assert np.abs(both - 0.25 * (vectors["a"] + vectors["b"])).max() < 1e-6


# -- weights -------------------------------------------------------------------------------------


def test_a_malicious_receiver_can_ask_for_one_senders_model():
    """Stated, not prevented without `max_share`: no sender sees the others' weights."""
    plan, gathering, vector = plan_of(), gathering_of(), vector_of(8)
    weights = {"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0}
    messages = {
        name: words(plan, gathering, name, vector if name == "b" else vector_of(9), weights)
        for name in NAMES
    }
    total = SUMS.total(
        plan, KEYS["r"], gathering, {name: message.tobytes() for name, message in messages.items()}
    )
    assert np.abs(total - vector).max() <= plan.error_bound


def test_with_max_share_it_can_neither_ask_for_nor_lie_about_weights(uniform):
    plan, gathering, vector = plan_of(max_share=0.5), gathering_of(), vector_of(8)
    greedy = {"a": 0.05, "b": 0.9, "c": 0.0, "d": 0.05}
    with pytest.raises(RemoteProtocolError, match="mostly one sender's model"):
        words(plan, gathering, "b", vector, greedy)
    # So it shows b weights that b accepts, and the others weights that silence them.
    shown = {"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0}
    silent = {"a": 0.0, "b": 0.02, "c": 0.01, "d": 0.01}
    messages = {
        name: words(plan, gathering, name, vector, shown if name == "b" else silent)
        for name in NAMES
    }
    # Masks are bound to the weights, so those of b have nothing to cancel with.
    assert looks_random(sum(messages.values()).astype(np.uint32), uniform)


@pytest.mark.parametrize(
    ("max_share", "weights", "colluders"),
    [
        (0.5, {"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0}, "a"),
        (1 / 3, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3, "d": 0.0}, "ac"),
        (0.25, {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}, "acd"),
    ],
)
def test_max_share_asks_for_so_many_senders_on_the_receivers_side(max_share, weights, colluders):
    """Stated, not prevented: weights of 0 are allowed, so the other honest senders hide nothing."""
    plan, gathering, vector = plan_of(max_share=max_share), gathering_of(), vector_of(8)
    assert len(colluders) == math.ceil(1 / max_share) - 1
    vectors = {name: vector_of(seed) for seed, name in enumerate(NAMES)} | {"b": vector}
    messages = {
        name: words(plan, gathering, name, vectors[name], weights).tobytes() for name in NAMES
    }
    total = SUMS.total(plan, KEYS["r"], gathering, messages)
    theirs = sum(weights[name] * vectors[name] for name in colluders)
    assert np.abs((total - theirs) - weights["b"] * vector).max() <= plan.error_bound


@pytest.mark.parametrize(
    ("max_share", "weights"),
    [(0.5, {"b": 1.0}), (1 / 3, {"a": 0.5, "b": 0.5}), (0.25, dict.fromkeys("abc", 1 / 3))],
)
def test_with_one_less_on_its_side_the_sum_is_refused(max_share, weights):
    """Whatever it gives them: b and they cannot have all of the weight."""
    plan, asked = plan_of(max_share=max_share), dict.fromkeys(NAMES, 0.0) | weights
    with pytest.raises(RemoteProtocolError, match="mostly one sender's model"):
        words(plan, gathering_of(), "b", vector_of(8), asked)
