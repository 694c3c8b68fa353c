"""How one machine answers: predictions, queries, repetitions, what the ledger is charged."""

import dataclasses

import pytest

from securefair.protocol.effects import (
    Run,
    Send,
    SetDeadline,
)
from securefair.protocol.jobs import (
    AnswerAsk,
    Answered,
    Imported,
    ImportPeer,
    PrepareAsk,
    PrepareKeysAndFeatures,
    Questions,
    Step,
)
from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
    DeclineReason,
)
from securefair.protocol.states import (
    AskingState,
    RoundState,
    ServingState,
)
from support.stage import (
    DISCLOSURE,
    FEATURES,
    HELLO,
    KEYS,
    NOT_SHARING,
    OWN,
    STALE,
    Stage,
    sends,
)

PREPARE = PrepareAsk(0, 0, ("bea", "cem"))


def questions(payload: bytes, *peers: str) -> Questions:
    return Questions(dict.fromkeys(peers or ("bea", "cem"), payload))


def with_predictions() -> Stage:
    return Stage(disclosure=dataclasses.replace(DISCLOSURE, release="class_sums"))


def test_queries_wait_for_the_predictions_that_they_carry():
    stage = with_predictions()
    assert Run(PREPARE) in stage.begin(0)
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.introduce()
    assert stage.asking("bea").state is AskingState.WAITING
    assert stage.done(PREPARE, questions(b"E(p)")) == [
        Send("bea", Ask(0, 0, b"E(p)")),
        Send("cem", Ask(0, 0, b"E(p)")),
    ]


def test_predictions_are_made_anew_each_round_and_only_if_somebody_is_asked():
    stage = with_predictions().started()
    stage.done(PREPARE, questions(b"E(p)"))
    stage.replied(0, bea=0.5, cem=0.0)
    stage.stepped(0)
    again = PrepareAsk(1, 0, ("bea",))
    assert stage.begin(1) == [SetDeadline(1, 10.0), Run(again)]
    assert stage.done(again, questions(b"E(p')", "bea")) == [Send("bea", Ask(1, 0, b"E(p')"))]
    nobody = with_predictions().started()
    nobody.done(PREPARE, questions(b"E(p)"))
    nobody.replied(0, bea=None, cem=None)
    nobody.stepped(0)
    assert nobody.begin(1) == [SetDeadline(1, 10.0), Run(Step(1, (), ()))]


def test_predictions_that_fail_cost_the_round():
    stage = with_predictions().started()
    assert stage.fail(PREPARE) == [Run(Step(0, (), ()))]
    assert stage.stepped(0).summary.failed == ("bea", "cem")


def test_predictions_of_an_earlier_round_are_dropped():
    for end in ("done", "fail"):
        stage = with_predictions().started()
        stage.expire(0)
        stage.stepped(0)
        stage.begin(1)
        if end == "done":
            assert stage.done(PREPARE, questions(b"E(p)")) == []
        else:
            assert stage.fail(PREPARE) == []


def test_without_a_question_nobody_is_asked():
    stage = with_predictions().started()
    assert stage.done(PREPARE, Questions({})) == [Run(Step(0, (), ()))]
    assert stage.stepped(0).summary.asked == ()


def test_questions_that_bring_everything_need_no_keys():
    """Hello, then the question; and the host counts what an answer discloses."""
    stage = Stage(needs_keys=False, always_share=True)
    assert Run(PREPARE) in stage.begin(0)
    stage.done(PREPARE, questions(b"patients"))
    assert stage.hear("bea", HELLO) == [Send("bea", Ask(0, 0, b"patients"))]
    job = AnswerAsk("bea", 0, 0, b"theirs")
    assert stage.hear("bea", Ask(0, 0, b"theirs")) == [Run(job)]
    withheld = Decline(0, 0, NOT_SHARING)
    assert stage.done(job, Answered(b"", NOT_SHARING)) == [Send("bea", withheld)]
    assert stage.hear("bea", Ask(0, 0, b"theirs")) == [Send("bea", withheld)]
    assert not stage.machine.ledger.accounts
    stage.blamed("bea", KEYS, "nobody uploads")


def test_a_query_must_fit_the_release():
    Stage().started().blamed("bea", Ask(0, 0, b"E(p)"), "does not fit the release")
    with_predictions().started().blamed("bea", Ask(0, 0, b""), "does not fit the release")


# --- as teacher ------------------------------------------------------------------------------


def test_a_forced_round_answers_everybody():
    stage = Stage().started()
    job = AnswerAsk("bea", 0, 0, b"")
    assert stage.hear("bea", Ask(0, 0, b"")) == [Run(job)]
    assert stage.serving("bea", 0).state is ServingState.COMPUTING
    assert stage.done(job, Answered(b"numbers")) == [Send("bea", Answer(0, 0, b"numbers"))]
    assert stage.serving("bea", 0).state is ServingState.ANSWERED


@pytest.mark.parametrize(
    ("reputation", "coin", "answers"),
    [
        (0.5, 0.5, True),
        (0.5, 0.51, False),
        (0.0, 0.01, False),
        (1.0, 0.99, True),
        (None, 0.0, False),
    ],
)
def test_a_round_left_to_chance_answers_iff_the_coin_is_within_the_reputation(
    reputation, coin, answers
):
    stage = Stage().after_round_0(bea=reputation, cem=None)
    stage.begin(1, bea=coin)
    expected = (
        Run(AnswerAsk("bea", 1, 0, b"")) if answers else Send("bea", Decline(1, 0, NOT_SHARING))
    )
    assert stage.hear("bea", Ask(1, 0, b"")) == [expected]


def test_a_repeated_query_gets_the_same_bytes_and_no_second_job():
    stage = Stage().started()
    [run] = stage.hear("bea", Ask(0, 0, b""))
    stage.ignored("bea", Ask(0, 0, b""))  # still computing
    [answer] = stage.done(run.job, Answered(b"numbers"))
    ledger = stage.machine.ledger
    assert stage.hear("bea", Ask(0, 0, b"")) == [answer]
    assert stage.machine.ledger is ledger


def test_a_repeated_query_that_was_declined_is_declined_again():
    stage = Stage().after_round_0(bea=0.5, cem=None)
    stage.begin(1, bea=0.9)
    decline = [Send("bea", Decline(1, 0, NOT_SHARING))]
    assert stage.hear("bea", Ask(1, 0, b"")) == decline
    assert stage.hear("bea", Ask(1, 0, b"")) == decline


def test_two_different_queries_for_one_round_are_blamed():
    stage = Stage().started()
    stage.hear("bea", Ask(0, 0, b""))
    stale = Decline(0, 1, DeclineReason.STALE)  # the store of an honest one may be an older one
    stage.blamed("bea", Ask(0, 1, b""), "two different questions", stale)


def test_an_answer_that_fails_is_declined_and_stays_so():
    stage = Stage().started()
    [run] = stage.hear("bea", Ask(0, 0, b""))
    failed = [Send("bea", Decline(0, 0, DeclineReason.FAILED))]
    assert stage.fail(run.job) == failed
    assert stage.hear("bea", Ask(0, 0, b"")) == failed


def test_queries_are_answered_while_stepping_and_after_the_round():
    stage = Stage().started()
    stage.replied(0, bea=0.5, cem=0.5)
    assert stage.hear("bea", Ask(0, 0, b"")) == [Run(AnswerAsk("bea", 0, 0, b""))]
    stage.stepped(0)
    assert stage.hear("cem", Ask(0, 0, b"")) == [Run(AnswerAsk("cem", 0, 0, b""))]


def test_a_query_of_the_next_round_is_kept_until_it_begins():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    assert stage.hear("bea", Ask(1, 0, b"")) == []
    stage.ignored("bea", Ask(1, 0, b""))
    assert stage.serving("bea", 1).state is ServingState.KEPT
    assert Run(AnswerAsk("bea", 1, 0, b"")) in stage.begin(1, bea=0.2)


def test_a_kept_query_is_decided_with_the_coin_of_its_round():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.hear("bea", Ask(1, 0, b""))
    assert Decline(1, 0, NOT_SHARING) in sends(stage.begin(1, bea=0.9), "bea")


def test_a_query_of_round_0_before_the_own_beginning_is_kept():
    stage = Stage()
    stage.introduce("bea")
    assert stage.hear("bea", Ask(0, 0, b"")) == []
    assert Run(AnswerAsk("bea", 0, 0, b"")) in stage.begin(0)


def test_a_query_before_the_import_is_done_is_kept_until_then():
    stage = Stage()
    stage.begin(0)
    stage.hear("bea", HELLO)
    assert stage.hear("bea", Ask(0, 0, b"")) == []
    stage.hear("bea", KEYS)
    stage.hear("bea", FEATURES)
    assert stage.done(ImportPeer("bea", KEYS, FEATURES), Imported()) == [
        Run(AnswerAsk("bea", 0, 0, b""))
    ]


def test_a_query_whose_import_outlasts_the_round_is_declined_as_stale():
    stage = Stage()
    stage.begin(0)
    stage.hear("bea", HELLO)
    stage.hear("bea", Ask(0, 0, b""))
    stage.expire(0)
    stage.stepped(0)
    assert Send("bea", Decline(0, 0, STALE)) in stage.begin(1)


def test_queries_of_older_rounds_are_stale_and_of_far_rounds_kept():
    """Whoever was away is behind all others, and none of them is at fault."""
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.begin(1)
    assert stage.hear("bea", Ask(0, 0, b"")) == [Send("bea", Decline(0, 0, STALE))]
    assert stage.hear("bea", Ask(4, 0, b"")) == []
    assert stage.hear("bea", Ask(500, 0, b"")) == []
    assert sorted(stage.machine.memory.peers["bea"].serving) == [(500, False)]


def test_only_the_latest_query_is_kept_ahead():
    stage = Stage().after_round_0(bea=0.5, cem=0.5)
    stage.hear("bea", Ask(1, 0, b""))
    stage.hear("bea", Ask(3, 0, b""))
    stage.ignored("bea", Ask(2, 0, b""))
    assert list(stage.machine.memory.peers["bea"].serving) == [(3, False)]
    for number in (1, 2):
        effects = stage.begin(number, bea=0.1)
        assert not any(isinstance(e, Run) and isinstance(e.job, AnswerAsk) for e in effects)
        stage.replied(number, bea=0.5, cem=0.5)
        stage.stepped(number)
    assert Run(AnswerAsk("bea", 3, 0, b"")) in stage.begin(3)


def test_answers_are_repeated_for_the_rounds_that_are_kept():
    stage = Stage(keep_rounds=1).started()
    [run] = stage.hear("bea", Ask(0, 0, b""))
    [answer] = stage.done(run.job, Answered(b"numbers"))
    stage.replied(0, bea=0.5, cem=0.5)
    stage.stepped(0)
    stage.begin(1)
    assert stage.hear("bea", Ask(0, 0, b"")) == [answer]
    stage.replied(1, bea=0.5, cem=0.5)
    stage.stepped(1)
    stage.begin(2)
    assert stage.hear("bea", Ask(0, 0, b"")) == [Send("bea", Decline(0, 0, STALE))]


def test_an_answer_that_outlasts_its_round_is_sent_all_the_same():
    stage = Stage(keep_rounds=0).started()
    [run] = stage.hear("bea", Ask(0, 0, b""))
    stage.replied(0, bea=0.5, cem=0.5)
    stage.stepped(0)
    stage.begin(1)
    stage.ignored("bea", Ask(0, 0, b""))  # not computed twice
    assert stage.done(run.job, Answered(b"late")) == [Send("bea", Answer(0, 0, b"late"))]


# --- the ledger ------------------------------------------------------------------------------


def test_every_answer_is_charged_to_the_student_under_the_version_that_gave_it():
    stage = Stage()
    stage.begin(0, version=7)
    stage.introduce()
    stage.hear("bea", Ask(0, 0, b""))
    account = stage.machine.ledger.accounts["bea"]
    assert account.released == {7: {"features 0, keys 0": 60}}  # 30 samples, 2 classes
    assert account.samples == 30
    assert "cem" not in stage.machine.ledger.accounts


def test_an_unchanged_teacher_discloses_nothing_more():
    stage = Stage()
    stage.begin(0, version=7)
    stage.introduce()
    stage.hear("bea", Ask(0, 0, b""))
    stage.expire(0)
    stage.stepped(0)
    for number in (1, 2, 3):
        stage.begin(number, version=7)
        if stage.state is RoundState.EXCHANGING:
            stage.expire(number)
        stage.stepped(number)
    assert stage.hear("bea", Ask(3, 0, b"")) == [Run(AnswerAsk("bea", 3, 0, b""))]
    assert stage.machine.ledger.accounts["bea"].total == 60


def test_new_predictions_are_new_numbers_even_from_an_unchanged_teacher():
    stage = with_predictions()
    stage.begin(0, version=7)
    stage.introduce()
    stage.hear("bea", Ask(0, 0, b"E(p)"))
    released = stage.machine.ledger.accounts["bea"].released
    assert released == {7: {"features 0, keys 0, predictions 0": 2}}


def test_beyond_the_limit_the_teacher_declines_even_when_forced():
    strict = dataclasses.replace(DISCLOSURE, fraction_per_version=0.9)
    stage = Stage(disclosure=strict).started()
    decline = [Send("bea", Decline(0, 0, DeclineReason.DISCLOSURE_LIMIT))]
    assert stage.hear("bea", Ask(0, 0, b"")) == decline
    assert stage.machine.ledger.total == 0
    assert stage.machine.memory.running == {}


# --- unexpected messages ---------------------------------------------------------------------
