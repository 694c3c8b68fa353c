"""Masked sums: a message says nothing alone, and nobody can be tricked into using a mask twice.

Adversaries: a curious receiver, which holds all messages; curious senders that tell it what they
know; a malicious receiver that lies about rounds, senders or weights. Protected: every sender's
parameters, as long as one other sender of the sum keeps its secret. Still disclosed: the sum, and
with it everything that the colluding senders' own parts leave of it; to each sender its weight.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from securefair.averaging import (
    Gathering,
    Shares,
    make_share,
    open_sum,
    release,
    streams,
)
from securefair.averaging.pairwise import pair_masks
from securefair.errors import LocalProtocolError, RemoteProtocolError
from security.masked import (
    KEYS,
    NAMES,
    PARAMETERS,
    PUBLICS,
    SESSION,
    SUMS,
    gathering_of,
    keys_of,
    looks_random,
    plan_of,
    vector_of,
    words,
)

precisions = pytest.mark.parametrize("precision", [2.0**-16, 2.0**-45], ids=["32 bits", "64 bits"])


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
