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
    Answered,
    AnswerQuery,
    Opened,
    PrepareQuery,
    Step,
    Stepped,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    Answer,
    Decline,
    Query,
)
from securefair.protocol.states import (
    AskingState,
)
from support.stage import FEATURES, HELLO, KEYS, NOT_SHARING, SETTINGS, STALE, Stage


def test_strangers_are_blamed():
    stage = Stage()
    stage.begin(0)
    stage.blamed("eve", HELLO, "does not belong")
    for message in (KEYS, FEATURES, Query(0, 0, b""), Answer(0, 0, b""), Decline(0, 0, STALE)):
        stage.blamed("bea", message, "has not said Hello yet")


def test_replies_that_nobody_asked_for_are_blamed():
    stage = Stage().after_round_0(bea=0.5, cem=0.0)
    stage.blamed("cem", Answer(0, 1, b""), "never sent")  # idle, exchange 1 was never asked
    stage.begin(1)
    stage.blamed("cem", Answer(1, 1, b""), "it was not asked this round")
    stage.blamed("bea", Answer(1, 0, b""), "expected 'round 1, exchange 1'")
    stage.blamed("bea", Answer(1, 2, b""), "never sent")
    stage.blamed("bea", Answer(2, 1, b""), "never sent")
    stage.blamed("bea", Answer(0, 1, b""), "never sent")  # that exchange is of round 1
    stage.blamed("bea", Decline(5, 9, NOT_SHARING), "never sent")


def test_replies_before_the_query_was_sent_are_blamed():
    stage = Stage()
    stage.begin(0)
    stage.introduce("bea")
    stage.blamed("bea", Answer(0, 0, b""), "it was not asked this round")


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
        Failed(PrepareQuery(0), "never started"),
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
    stage.hear("bea", Query(0, 0, b""))
    with pytest.raises(LocalProtocolError, match="not under way"):
        stage.done(AnswerQuery("bea", 0, 7, b""), Answered(b"numbers"))


def test_results_must_be_of_the_right_kind():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    with pytest.raises(LocalProtocolError, match="wrong kind of result"):
        stage.done(run.job, Stepped())
    for reputation in (None, -0.1, 1.1, float("nan")):
        with pytest.raises(LocalProtocolError, match="no reputation"):
            stage.done(run.job, Opened(reputation))
    assert stage.done(run.job, Opened(0.5)) == []  # still under way after all that


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
