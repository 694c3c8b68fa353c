import msgspec
import pytest

from securefair.collaboration.transfer.given import Given
from securefair.errors import LedgerError


def test_the_same_mean_may_be_given_again_and_no_other():
    given = Given().plus("a", 0, ("b", "c", "d")).plus("a", 0, ("b", "c", "d"))
    for version, senders in ((0, ("b", "c")), (1, ("b", "c", "d")), (0, ("b", "c", "d", "e"))):
        with pytest.raises(LedgerError, match="tell a of a single teacher"):
            given.plus("a", version, senders)
    assert given.plus("b", 1, ("c", "d")).means["a"] == (0, ("b", "c", "d"))


def test_it_survives_a_process():
    given = Given().plus("a", 2, ("b", "c"))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(given), type=Given) == given
