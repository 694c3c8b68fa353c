"""Rules that every sender of a weighted sum keeps, whichever implementation forms it."""

from dataclasses import replace

import numpy as np
import pytest

from contract.crowd import RECEIVER, SESSION, crowd_of, exact, vectors_of, weights_of
from securefair.averaging import (
    Gathering,
    Shares,
    make_share,
)
from securefair.errors import RemoteProtocolError


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
