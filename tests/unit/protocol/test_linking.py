"""Where too few are left for a sum, nothing that leads to one is told."""

import dataclasses

import pytest

from securefair.protocol.effects import Expired, Presence
from securefair.protocol.jobs import Adapt, Adapted, AnswerAsk, PrepareAsk, Questions
from securefair.protocol.messages import Ask, Decline, DeclineReason, Offer
from unit.protocol.averager import NEIGHBOURS, SETTINGS, WILLING, Stage, jobs, over, sent

NOT_SHARED = Decline(4, 0, DeclineReason.NOT_SHARING)


def without(*gone):
    """A stage of ann whose round 0 is over, and for whom these peers are away."""
    stage = Stage()
    stage.linked()
    for name in gone:
        stage.machine.handle(Presence(name, here=False))
    return stage


def told(stage):
    accounts = stage.machine.ledger.accounts
    return {name: (accounts[name].offers, accounts[name].bits) for name in accounts}


@pytest.mark.parametrize(
    ("gone", "compared"),
    [
        (("dan",), ("bea", "cem")),
        (("cem", "dan"), ("bea",)),  # to whose sum ann may belong, with eve
        (("cem", "dan", "eve"), ()),
        (("bea", "dan"), ()),  # a sum of ann needs two of three, and one of cem's so
    ],
)
def test_gradients_are_compared_with_whom_a_sum_is_possible(gone, compared):
    expected = PrepareAsk(4, 0, compared) if compared else Adapt(4, (), ())
    assert jobs(without(*gone).begin(4)) == [expected]


def test_nobody_is_compared_once_budgets_are_used_up():
    sums = dataclasses.replace(SETTINGS.sums, max_sums=1)
    stage = Stage(sums=sums)  # ann offers each its model in round 0
    stage.linked("bea")
    assert jobs(stage.begin(4)) == [PrepareAsk(4, 0, ("cem", "dan"))]  # they may offer theirs yet
    assert stage.hear("bea", Ask(4, 0, b"query"))[-1].message == NOT_SHARED
    assert jobs(stage.hear("dan", Ask(4, 0, b"query"))) == [AnswerAsk("dan", 4, 0, b"query")]


def test_who_comes_back_too_late_for_a_comparison_is_not_asked():
    stage = without("bea", "dan")
    stage.begin(4)
    assert stage.machine.handle(Presence("bea", here=True)) == []


def test_a_neighbour_gets_no_comparison_for_a_sum_that_is_impossible():
    """Of cem's senders ann alone is left, of bea's ann and eve."""
    stage = without("bea", "dan")
    stage.begin(4)
    assert stage.hear("cem", Ask(4, 0, b"query"))[-1].message == NOT_SHARED
    stage = without("cem", "dan")
    stage.begin(4)
    assert jobs(stage.hear("bea", Ask(4, 0, b"query"))) == [AnswerAsk("bea", 4, 0, b"query")]


@pytest.mark.parametrize(
    ("gone", "offered"),
    [
        ((), NEIGHBOURS),
        (("dan",), ("bea", "cem")),
        (("cem", "dan"), ("bea",)),  # with eve
        (("cem", "dan", "eve"), ()),
        (("bea",), ("cem", "dan")),
    ],
)
def test_models_are_offered_to_whom_a_sum_is_possible_and_nobody_else_is_told_anything(
    gone, offered
):
    stage = without(*gone)
    before = told(stage)
    stage.begin(1)
    effects = stage.done(Adapt(1, (), ()), Adapted(WILLING))
    assert sent(effects, Offer) == {name: Offer(1, name in offered) for name in NEIGHBOURS}
    after = told(stage)
    assert {name for name in NEIGHBOURS if after[name][1] > before[name][1]} == set(offered)
    # Whoever stays away saves no sums for the last rounds, when models stand still.
    assert all(after[name][0] == before[name][0] + 1 for name in NEIGHBOURS)


def test_a_round_without_a_possible_sum_ends_as_soon_as_the_others_have_said_so():
    stage = without("cem", "dan")
    stage.begin(1)
    stage.done(Adapt(1, (), ()), Adapted(WILLING))
    assert over(stage.hear("bea", Offer(1, False))).combined == ()


def test_of_who_is_met_again_everything_is_possible_again():
    stage = without("cem", "dan")
    for name in ("cem", "dan"):
        stage.machine.handle(Presence(name, here=True))
    (job,) = jobs(stage.begin(4))
    assert job == PrepareAsk(4, 0, NEIGHBOURS)
    queries = stage.done(job, Questions(dict.fromkeys(NEIGHBOURS, b"query")))
    assert set(sent(queries, Ask)) == set(NEIGHBOURS)
    assert jobs(stage.machine.handle(Expired(4))) == [Adapt(4, (), ())]
