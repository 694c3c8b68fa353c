"""A peer that was recovered: what it is told, and what becomes of its questions."""

import pytest

from securefair.errors import LocalProtocolError
from securefair.protocol.effects import AskedAgain, BeganAnew, Blame, Run, Send
from securefair.protocol.jobs import AnswerAsk, Answered
from securefair.protocol.messages import Answer, Ask, Decline, DeclineReason
from securefair.protocol.states import ServingState
from support.stage import HELLO, OWN, STALE, Stage


def begins_anew(stage, peer):
    return stage.machine.handle(BeganAnew(peer))


def test_it_is_told_everything_and_asked_again():
    stage = Stage().started()
    sent = [effect.message for effect in begins_anew(stage, "bea")]
    assert sent == [HELLO, OWN.keys, OWN.features, Ask(0, 0, b"")]
    assert begins_anew(stage, "bea")  # as often as it does


def test_who_was_never_told_anything_hears_nothing_yet():
    assert begins_anew(Stage(), "bea") == []


def test_it_gets_no_second_answer_and_is_not_blamed():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.begin(1, bea=0.2)
    assert stage.hear("bea", Ask(1, 0, b"")) == [Run(AnswerAsk("bea", 1, 0, b""))]
    counted = stage.machine.ledger
    begins_anew(stage, "bea")
    # The answer that was under way would be one to a question that it does not know.
    assert stage.done(AnswerAsk("bea", 1, 0, b""), Answered(b"numbers")) == []
    declined, again = stage.hear("bea", Ask(1, 0, b"", 7))
    assert declined == Send("bea", Decline(1, 0, STALE))
    assert isinstance(again, AskedAgain)
    assert "two different questions" in again.reason
    assert stage.machine.ledger == counted


def test_the_same_question_gets_the_same_answer():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.begin(1, bea=0.2)
    stage.hear("bea", Ask(1, 0, b""))
    begins_anew(stage, "bea")
    assert stage.hear("bea", Ask(1, 0, b"")) == []
    effects = stage.done(AnswerAsk("bea", 1, 0, b""), Answered(b"numbers"))
    assert effects == [Send("bea", Answer(1, 0, b"numbers"))]


def test_another_question_of_one_that_forgot_nothing_is_blamed():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.begin(1, bea=0.2)
    stage.hear("bea", Ask(1, 0, b""))
    begins_anew(stage, "cem")
    declined, blame = stage.hear("bea", Ask(1, 0, b"", 7))
    assert declined == Send("bea", Decline(1, 0, STALE))
    assert isinstance(blame, Blame)


def test_a_question_that_is_only_kept_is_replaced():
    """Nothing was let out for it: the later one is decided, once."""
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    assert stage.hear("bea", Ask(1, 0, b"")) == []
    assert stage.hear("bea", Ask(1, 1, b"")) == []
    assert stage.serving("bea", 1).state is ServingState.KEPT
    assert Run(AnswerAsk("bea", 1, 1, b"")) in stage.begin(1, bea=0.2)


def test_a_question_that_it_forgot_before_it_was_decided_is_not_answered():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.hear("bea", Ask(1, 0, b""))
    begins_anew(stage, "bea")
    assert not [one for one in stage.begin(1, bea=0.2) if isinstance(one, Run) and one.job.peer]


def test_nobody_else_can_begin_anew():
    with pytest.raises(LocalProtocolError, match="no such peer"):
        begins_anew(Stage(), "eve")


def test_a_round_in_which_most_had_gone_on_says_so():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.begin(3)
    for peer in ("bea", "cem"):
        stage.hear(peer, Decline(3, 0, STALE))
    assert stage.stepped(3).summary.overtaken
    stage.begin(6)
    stage.hear("bea", Decline(6, 0, STALE))
    stage.hear("cem", Decline(6, 0, DeclineReason.NOT_SHARING))
    assert not stage.stepped(6).summary.overtaken
