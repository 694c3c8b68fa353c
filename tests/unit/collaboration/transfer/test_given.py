import msgspec
import pytest

from securefair.collaboration.transfer.given import Given
from securefair.errors import LedgerError, OtherSumError


def test_the_same_mean_may_be_given_again_and_no_other():
    given = Given().plus("a", 0, ("b", "c", "d")).plus("a", 0, ("b", "c", "d"))
    for version, senders in ((0, ("b", "c")), (1, ("b", "c", "d")), (0, ("b", "c", "d", "e"))):
        with pytest.raises(LedgerError, match="tell a of a single teacher"):
            given.plus("a", version, senders)


def test_other_students_get_means_over_the_same_hospitals():
    given = Given().plus("a", 0, ("b", "c", "d"))
    assert given.plus("b", 0, ("c", "d")).plus("c", 0, ("b", "d")).means["a"][0] == 0
    assert given.plus("b", 0, ("a", "c", "d")).means["b"] == (0, ("a", "c", "d"))
    for student, version, senders in (("b", 0, ("d", "e")), ("b", 1, ("c", "d")), ("e", 0, "bc")):
        with pytest.raises(LedgerError, match=f"tell {student} and a of a single teacher"):
            given.plus(student, version, tuple(senders))


@pytest.mark.parametrize(
    ("student", "version", "senders", "possible"),
    [
        ("b", 0, "acdef", "acde"),
        ("a", 0, "bcdef", "bcde"),
        ("b", 0, "acd", ""),
        ("b", 1, "acdef", ""),
    ],
)
def test_it_names_the_senders_of_a_mean_that_may_be_given(student, version, senders, possible):
    given = Given().plus("a", 0, tuple("bcde"))
    with pytest.raises(OtherSumError) as caught:
        given.check(student, version, tuple(senders))
    assert caught.value.senders == tuple(possible)
    if possible:
        given.check(student, version, caught.value.senders)


def test_it_survives_a_process():
    given = Given().plus("a", 2, ("b", "c"))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(given), type=Given) == given
