"""Names of sums: what is refused, and that any difference makes another digest."""

import pytest

from securefair.averaging import SumSpec, get_averaging, plan_sum
from securefair.averaging.gathering import Gathering, check_weights
from securefair.errors import LocalProtocolError, RemoteProtocolError

SESSION = bytes(range(32))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"session": b"short"}, "session"),
        ({"session": "s" * 32}, "session"),
        ({"round": 0.5}, "round"),
        ({"round": -1}, "round"),
        ({"attempt": -1}, "attempt"),
        ({"senders": ()}, "senders"),
        ({"senders": ("a",)}, "senders"),
        ({"senders": ("b", "a")}, "senders"),
        ({"senders": ("a", "a")}, "senders"),
        ({"senders": ("a", "r")}, "senders"),
    ],
)
def test_what_is_no_sum_to_gather_is_refused_on_both_sides(gathering_of, change, where):
    with pytest.raises(LocalProtocolError) as local:
        gathering_of(**change)
    assert local.value.where == where
    facts = {
        "session": SESSION,
        "round": 0,
        "attempt": 0,
        "receiver": "r",
        "senders": ("a", "b"),
    }
    with pytest.raises(RemoteProtocolError) as remote:
        Gathering.asked(**facts | change)
    assert remote.value.culprit == "r"
    assert remote.value.where == where


def test_a_single_sender_is_refused_with_the_reason(gathering_of):
    with pytest.raises(LocalProtocolError, match="a sum over one is that sender's model"):
        gathering_of(("a",))


def test_senders_come_in_any_order(gathering_of):
    assert Gathering.of(SESSION, 0, "r", ["c", "a", "b"]) == gathering_of()


def test_everything_about_a_gathering_changes_its_digest(gathering_of):
    others = [
        gathering_of(),
        gathering_of(session=bytes(32)),
        gathering_of(round=1),
        gathering_of(attempt=1),
        gathering_of(receiver="s"),
        gathering_of(("a", "b")),
        gathering_of(("a", "b", "d")),
        gathering_of(("a", "bc")),
        gathering_of(("ab", "c")),
    ]
    assert len({gathering.digest for gathering in others}) == len(others)
    assert gathering_of().digest == others[0].digest


def test_a_normalised_row_may_exceed_the_whole_by_rounding(gathering_of):
    check_weights(gathering_of(), {"a": 0.1, "b": 0.2, "c": 0.7 + 1e-12}, most=3)
    with pytest.raises(LocalProtocolError, match="exceed the whole"):
        check_weights(gathering_of(), {"a": 0.1, "b": 0.2, "c": 0.7 + 1e-6}, most=3)


@pytest.mark.parametrize("kind", ["clear", "masked", "ckks"])
def test_more_senders_than_were_planned_are_refused(gathering_of, kind):
    """60 of 2 were added, with five times the error that the plan promised."""
    plan = plan_sum(kind, SumSpec(parameters=50, senders=2))
    sums = get_averaging(kind)
    with pytest.raises(LocalProtocolError, match=r"senders: .*at most 2"):
        sums.ask(plan, sums.generate_keys(plan), gathering_of(), dict.fromkeys("abc", 0.3))
