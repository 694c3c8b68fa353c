"""Rounds of one machine: whom it asks, what it waits for, when it steps."""

from securefair.protocol.effects import (
    Begin,
    Failed,
    Run,
    Send,
    SetDeadline,
)
from securefair.protocol.jobs import (
    AnswerAsk,
    OpenAnswer,
    OpenedAnswer,
    PrepareKeysAndFeatures,
    Step,
    Stepped,
)
from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
)
from securefair.protocol.states import (
    AskingState,
    RoundState,
)
from support.stage import HELLO, NOT_SHARING, Stage


def test_the_first_round_greets_everybody_and_makes_the_keys():
    assert Stage().begin(0) == [
        SetDeadline(0, 15.0),
        Send("bea", HELLO),
        Send("cem", HELLO),
        Run(PrepareKeysAndFeatures()),
    ]


def test_later_rounds_have_the_plain_deadline_and_no_setup():
    stage = Stage().after_round_0(bea=1.0, cem=0.0)
    assert stage.begin(1) == [SetDeadline(1, 10.0), Send("bea", Ask(1, 0, b""))]


def test_the_first_round_of_who_starts_late_has_the_time_for_setup():
    assert Stage().begin(3)[0] == SetDeadline(3, 15.0)


def test_a_forced_round_asks_everybody_and_scores():
    stage = Stage().started()
    assert stage.asking("bea").state is AskingState.ASKED
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert run == Run(OpenAnswer("bea", 0, b"numbers", score=True, reputation=None))
    assert stage.asking("bea").state is AskingState.OPENING
    assert stage.done(run.job, OpenedAnswer(0.25)) == []
    assert stage.machine.reputations == {"bea": 0.25, "cem": None}


def test_the_step_waits_for_the_last_reply_and_the_last_opening():
    stage = Stage().started()
    [run_bea] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert stage.hear("cem", Decline(0, 0, NOT_SHARING)) == []
    assert stage.state is RoundState.EXCHANGING
    assert stage.done(run_bea.job, OpenedAnswer(0.75)) == [Run(Step(0, ("bea",), (0.75,)))]
    assert stage.state is RoundState.STEPPING
    [over] = stage.done(Step(0, ("bea",), (0.75,)), Stepped())
    assert stage.state is RoundState.IDLE
    assert over.round == 0
    assert over.summary.forced
    assert over.summary.asked == ("bea", "cem")
    assert over.summary.opened == ("bea",)
    assert over.summary.declined == {"cem": NOT_SHARING}
    assert over.summary.failed == over.summary.missed == ()
    assert over.summary.reputations == {"bea": 0.75, "cem": None}
    assert over.summary.step_error is None


def test_a_round_left_to_chance_asks_those_with_reputation_and_does_not_score():
    stage = Stage(peers=("bea", "cem", "dan")).after_round_0(bea=0.4, cem=0.0, dan=None)
    effects = stage.begin(1)
    assert [e.peer for e in effects if isinstance(e, Send)] == ["bea"]
    [run] = stage.hear("bea", Answer(1, 0, b"numbers"))
    assert run.job == OpenAnswer("bea", 1, b"numbers", score=False, reputation=0.4)
    assert stage.done(run.job, OpenedAnswer(None)) == [Run(Step(1, ("bea",), (0.4,)))]
    assert stage.machine.reputations == {"bea": 0.4, "cem": 0.0, "dan": None}
    over = stage.stepped(1)
    assert not over.summary.forced
    assert over.summary.asked == ("bea",)


def test_the_next_forced_round_smooths_the_reputation_it_has():
    stage = Stage().after_round_0(bea=0.4, cem=0.0)
    for number in (1, 2):
        stage.begin(number)
        stage.replied(number, bea=0.9)
        stage.stepped(number)
    stage.begin(3)
    [run] = stage.hear("bea", Answer(3, 0, b"numbers"))
    assert run.job == OpenAnswer("bea", 3, b"numbers", score=True, reputation=0.4)


def test_without_anybody_to_ask_the_step_comes_at_once():
    stage = Stage().after_round_0(bea=0.0, cem=None)
    assert stage.begin(1) == [SetDeadline(1, 10.0), Run(Step(1, (), ()))]
    assert Stage(peers=()).begin(0) == [
        SetDeadline(0, 15.0),
        Run(PrepareKeysAndFeatures()),
        Run(Step(0, (), ())),
    ]


def test_vpdl_trusts_everybody_for_ever():
    stage = Stage(always_share=True)
    assert stage.machine.reputations == {"bea": 1.0, "cem": 1.0}
    stage.started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert not run.job.score
    stage.done(run.job, OpenedAnswer(None))
    stage.replied(0, cem=None)
    stage.stepped(0)
    effects = stage.machine.handle(Begin(1, {}, 1))  # no coins are needed
    assert [e.peer for e in effects if isinstance(e, Send)] == ["bea", "cem"]
    assert stage.hear("cem", Ask(1, 0, b"")) == [Run(AnswerAsk("cem", 1, 0, b""))]


def test_a_step_that_fails_ends_the_round_and_says_why():
    stage = Stage().started()
    stage.replied(0, bea=None, cem=None)
    [over] = stage.fail(Step(0, (), ()), "diverged")
    assert over.summary.step_error == "diverged"
    assert stage.state is RoundState.IDLE


# --- deadlines -------------------------------------------------------------------------------


def test_a_deadline_misses_what_is_not_settled_and_steps_with_the_rest():
    stage = Stage(peers=("bea", "cem", "dan")).started()
    stage.replied(0, bea=0.5)
    stage.hear("cem", Answer(0, 0, b"slow to open"))
    assert stage.expire(0) == [Run(Step(0, ("bea",), (0.5,)))]
    over = stage.stepped(0)
    assert over.summary.missed == ("cem", "dan")
    assert over.summary.reputations == {"bea": 0.5, "cem": None, "dan": None}


def test_late_replies_and_openings_change_nothing_and_blame_nobody():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.expire(0)
    stage.ignored("cem", Answer(0, 0, b"late"))
    stage.ignored("bea", Answer(0, 0, b"numbers"))
    assert stage.done(run.job, OpenedAnswer(0.9)) == []
    assert stage.machine.reputations == {"bea": None, "cem": None}
    assert stage.asking("bea").state is AskingState.MISSED
    stage.stepped(0)
    stage.begin(1)
    stage.ignored("cem", Answer(0, 0, b"very late"))


def test_an_opening_that_ends_in_a_later_round_is_dropped():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.expire(0)
    stage.stepped(0)
    stage.begin(1)
    assert stage.done(run.job, OpenedAnswer(0.9)) == []
    assert stage.machine.reputations["bea"] is None


def test_an_opening_that_fails_late_still_blames():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.expire(0)
    [blame] = stage.fail(run.job, "wrong scale")
    assert blame.peer == "bea"
    assert stage.asking("bea").state is AskingState.MISSED


def test_an_answer_that_cannot_be_opened_is_blamed_once():
    """The job names its culprit as well: two rows said that two messages were refused."""
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    [blame] = stage.machine.handle(Failed(run.job, "wrong scale", culprit="bea"))
    assert (blame.peer, "cannot be opened" in blame.reason) == ("bea", True)
    stage.replied(0, cem=0.5)
    summary = stage.stepped(0).summary
    assert (summary.failed, summary.doubted) == (("bea",), ())


def test_an_answer_that_fails_a_statistical_test_is_doubted_and_not_blamed():
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    assert stage.machine.handle(Failed(run.job, "rough", culprit="bea", doubtful=True)) == []
    stage.replied(0, cem=0.5)
    summary = stage.stepped(0).summary
    assert (summary.opened, summary.failed, summary.doubted) == (("cem",), ("bea",), ("bea",))
    stage.begin(1)
    assert not stage.asking("bea").doubtful


def test_one_that_is_scored_all_the_same_is_opened_and_doubted():
    """Where alignments are private a refusal would tell of all patients, and none was counted."""
    stage = Stage().started()
    [run] = stage.hear("bea", Answer(0, 0, b"numbers"))
    stage.done(run.job, OpenedAnswer(0.25, doubtful=True))
    stage.replied(0, cem=0.5)
    summary = stage.stepped(0).summary
    assert (summary.opened, summary.failed, summary.doubted) == (("bea", "cem"), (), ("bea",))


def test_a_deadline_while_stepping_or_after_the_round_does_nothing():
    stage = Stage().started()
    stage.replied(0, bea=None, cem=None)
    assert stage.expire(0) == []
    stage.stepped(0)
    assert stage.expire(0) == []
    stage.begin(1)
    assert stage.expire(0) == []
    assert stage.state is RoundState.STEPPING


def test_the_deadline_of_an_earlier_round_does_not_end_this_one():
    stage = Stage().after_round_0(bea=0.5, cem=0.0)
    stage.begin(1)
    assert stage.expire(0) == []
    assert stage.state is RoundState.EXCHANGING
    assert stage.asking("bea").state is AskingState.ASKED
