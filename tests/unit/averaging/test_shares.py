"""A sender's memory: rounds that are over, and what it holds of each. The contract has the rest."""

import numpy as np
import pytest

from securefair.averaging import Shares, SumSpec, make_share, release
from securefair.averaging.clear import ClearSums
from securefair.averaging.shares import KEY_BYTES
from securefair.errors import RemoteProtocolError

SUMS = ClearSums()
PLAN = SUMS.plan(SumSpec(parameters=3, senders=2))
KEYS = SUMS.generate_keys(PLAN)


@pytest.fixture
def send(gathering_of):
    """Share ones to the sum of a round."""

    def made_share(memory, round, **changes):
        gathering = gathering_of(("a", "b"), round=round, **changes)
        request = SUMS.ask(PLAN, KEYS, gathering, {"a": 0.5, "b": 0.5})["a"]
        return make_share(memory, SUMS, PLAN, KEYS, {}, gathering, "a", request, np.ones(3))

    return made_share


def test_what_is_forgotten_is_not_asked_for_again(send, gathering_of):
    memory = Shares()
    for round in range(4):
        memory, _ = send(memory, round)
    memory = memory.forget(2)
    assert sorted(round for _, round in memory.made) == [2, 3]
    with pytest.raises(RemoteProtocolError, match="a round that is over") as error:
        send(memory, 1)
    assert error.value.culprit == "r"
    assert send(memory, 2)[0] is memory
    with pytest.raises(RemoteProtocolError, match="not under way"):
        release(memory, gathering_of(("a", "b"), round=1))


def test_a_round_stays_over(send):
    memory = send(Shares(), 5)[0].forget(4).forget(2)
    assert memory.floor == 4
    memory, _ = send(memory, 6)
    assert memory.floor == 4
    assert release(memory, memory.of("r", 6).gathering)[0].floor == 4


def test_receivers_and_rounds_do_not_get_into_each_others_way(send):
    memory, first = send(Shares(), 0)
    memory, second = send(memory, 0, receiver="s")
    memory, third = send(memory, 1)
    assert len({first, second, third}) == 3
    assert len(memory.made) == 3


def test_a_memory_is_not_changed_but_replaced(send, gathering_of):
    empty = Shares()
    memory, _ = send(empty, 0)
    assert empty.made == {}
    released, key = release(memory, gathering_of(("a", "b")))
    assert len(key) == KEY_BYTES
    assert not memory.of("r", 0).released
    assert released.of("r", 0).released


def test_messages_and_keys_do_not_print(send):
    memory, closed = send(Shares(), 0)
    made = memory.of("r", 0)
    for secret in (made.key, made.request, closed):
        assert repr(secret)[2:-1] not in repr(made)


def test_every_seal_has_a_key_of_its_own(send):
    keys = {send(Shares(), 0)[0].of("r", 0).key for _ in range(5)}
    assert len(keys) == 5
