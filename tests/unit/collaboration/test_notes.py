"""Notes of the last rounds."""

from types import SimpleNamespace

import pytest

from securefair.collaboration import notes
from securefair.collaboration.notes import KEPT_ROUNDS, Rounds, timed
from securefair.errors import LocalProtocolError


def test_only_the_last_rounds_are_kept():
    rounds = Rounds[str]()
    for number in range(5):
        rounds.begin(number, f"round {number}")
    assert list(rounds) == list(range(5 - KEPT_ROUNDS, 5))
    assert rounds[4] == "round 4"


@pytest.mark.parametrize("number", [0, 3])
def test_a_round_that_is_not_kept_is_refused(number):
    rounds = Rounds({1: "one", 2: "two"})
    with pytest.raises(LocalProtocolError, match="no longer kept") as error:
        rounds[number]
    assert error.value.found == number
    assert sorted(rounds) == [1, 2]


def test_times_of_a_peer_add_up(monkeypatch):
    clock = SimpleNamespace(perf_counter=iter([1.0, 3.0, 10.0, 14.0]).__next__)
    monkeypatch.setattr(notes, "time", clock)
    seconds = {"bea": 0.5}
    for peer in ("bea", "cem"):
        with timed(seconds, peer):
            pass
    assert seconds == {"bea": 2.5, "cem": 4.0}


def test_what_failed_is_not_timed():
    seconds = {}
    with pytest.raises(LocalProtocolError), timed(seconds, "bea"):
        raise LocalProtocolError("broken")
    assert seconds == {}
