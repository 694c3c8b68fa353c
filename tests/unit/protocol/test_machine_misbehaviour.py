"""Whom one machine blames, and what it refuses of its own host."""

import pytest

from securefair.errors import LocalProtocolError
from securefair.protocol.effects import (
    Begin,
    Done,
    Expired,
    Failed,
    Run,
)
from securefair.protocol.jobs import (
    AnswerAsk,
    Answered,
    OpenedAnswer,
    PrepareAsk,
    Step,
    Stepped,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
    Key,
    Offer,
    Reveal,
)
from securefair.protocol.states import AskingState
from support.stage import FEATURES, HELLO, KEYS, NOT_SHARING, SETTINGS, STALE, Stage


def test_strangers_are_blamed():
    stage = Stage()
    stage.begin(0)
    stage.blamed("eve", HELLO, "does not belong")
    for message in (KEYS, FEATURES, Ask(0, 0, b""), Answer(0, 0, b""), Decline(0, 0, STALE)):
        stage.blamed("bea", message, "has not said Hello yet")


def test_replies_that_nobody_asked_for_are_blamed():
    stage = Stage().after_round_0(bea=0.5, cem=0.0)
    stage.begin(1)
    stage.blamed("cem", Answer(1, 0, b""), "it was not asked")
    stage.blamed("bea", Answer(1, 1, b""), "expected 'round 1, attempt 0'")
    stage.blamed("bea", Answer(2, 0, b""), "never asked")
    stage.blamed("bea", Decline(5, 0, NOT_SHARING), "never asked")
    stage.blamed("bea", Answer(1, 0, b"", True), "part of a sum that it was not asked for")
    stage.ignored("bea", Answer(0, 0, b"late"))


def test_replies_before_the_query_was_sent_are_blamed():
    stage = Stage()
    stage.begin(0)
    stage.introduce("bea")
    stage.blamed("bea", Answer(0, 0, b""), "it was not asked")


def test_who_asks_for_a_sum_where_none_is_opened_is_blamed():
    stage = Stage().started()
    ask = Ask(0, 0, b"", 0, ("ann", "cem"))
    stage.blamed("bea", ask, "asks for a sum where every answer is opened by itself")
    stage.blamed("bea", Reveal(0, 0), "a key that does not exist")
    stage.blamed("bea", Key(0, 0, bytes(32)), "part of a sum that it was not asked for")
    stage.blamed("bea", Offer(0, True), "models are not averaged")


def test_a_second_reply_that_differs_is_blamed():
    stage = Stage().started()
    stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.ignored("bea", Answer(0, 0, b"numbers"))
    stage.blamed("bea", Answer(0, 0, b"other"), "two different replies")
    stage.blamed("bea", Decline(0, 0, NOT_SHARING), "two different replies")
    stage.hear("cem", Decline(0, 0, NOT_SHARING))
    stage.ignored("cem", Decline(0, 0, NOT_SHARING))
    stage.blamed("cem", Answer(0, 0, b"after all"), "two different replies")


def test_a_teacher_that_has_gone_on_may_call_a_repeated_query_stale():
    """Its answer and "stale" (for a copy of the query) arrive in either order."""
    stage = Stage().started()
    stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.ignored("bea", Decline(0, 0, STALE))
    stage.hear("cem", Decline(0, 0, STALE))
    stage.ignored("cem", Answer(0, 0, b"numbers"))
    assert stage.asking("cem").state is AskingState.DECLINED


def test_an_answer_that_cannot_be_opened_blames_and_goes_on_without():
    stage = Stage().started()
    stage.replied(0, cem=0.5)
    [run] = stage.hear("bea", Answer(0, 0, b"rubbish"))
    blame, step = stage.fail(run.job, "wrong scale")
    assert blame.peer == "bea"
    assert "wrong scale" in blame.reason
    assert step == Run(Step(0, ("cem",), (0.5,)))
    assert stage.stepped(0).summary.failed == ("bea",)


# --- faults of the host ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        Begin(0, {}, 0),  # the round before
        Begin(2, {}, 1),  # a gap
        Expired(1),
        Done(Step(0, (), ()), Stepped()),  # has ended already
        Failed(PrepareAsk(0, 0, ("bea",)), "never started"),
    ],
    ids=repr,
)
def test_a_host_that_breaks_the_rules_is_told_and_nothing_changes(event):
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    before = stage.machine.memory
    with pytest.raises(LocalProtocolError):
        stage.machine.handle(event)
    assert stage.machine.memory is before


def test_a_round_cannot_begin_inside_another():
    stage = Stage().started()
    with pytest.raises(LocalProtocolError, match="exchanging"):
        stage.begin(1)


def test_a_job_ends_as_the_job_that_was_run():
    stage = Stage().started()
    stage.hear("bea", Ask(0, 0, b""))
    with pytest.raises(LocalProtocolError, match="not under way"):
        stage.done(AnswerAsk("bea", 0, 0, b"other"), Answered(b"numbers"))


def test_results_must_be_of_the_right_kind():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    with pytest.raises(LocalProtocolError, match="wrong kind of result"):
        stage.done(run.job, Stepped())
    for reputation in (None, -0.1, 1.1, float("nan")):
        with pytest.raises(LocalProtocolError, match="no reputation"):
            stage.done(run.job, OpenedAnswer(reputation))
    assert stage.done(run.job, OpenedAnswer(0.5)) == []  # still under way after all that


@pytest.mark.parametrize(
    "coins", [{}, {"bea": 0.5}, {"bea": 0.5, "cem": 1.0}, {"bea": -1, "cem": 0}]
)
def test_coins_must_be_complete_where_they_decide(coins):
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    with pytest.raises(LocalProtocolError, match="coin"):
        stage.machine.handle(Begin(1, coins, 1))


def test_teacher_versions_never_fall():
    stage = Stage()
    stage.begin(0, version=3)
    stage.introduce()
    stage.expire(0)
    stage.stepped(0)
    with pytest.raises(LocalProtocolError, match="version"):
        stage.begin(1, version=2)


@pytest.mark.parametrize("peers", [("ann",), ("bea", "bea"), ("",)])
def test_participants_need_different_names(peers):
    with pytest.raises(LocalProtocolError, match="different names"):
        ParticipantMachine("ann", peers, SETTINGS)
