"""What every implementation of weighted sums refuses, and whom it blames."""

import numpy as np
import pytest

from contract.crowd import BOUND, RECEIVER, weights_of
from securefair.errors import (
    LocalProtocolError,
    ModelError,
    RemoteProtocolError,
)


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
