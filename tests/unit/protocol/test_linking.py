"""Where too few are left for a sum, nothing that leads to one is told."""

import dataclasses

import pytest

from securefair.protocol.effects import Expired, Presence
from securefair.protocol.flows import REPLY_BITS
from securefair.protocol.jobs import Adapt, Adapted, AnswerAsk, PrepareAsk, Questions
from securefair.protocol.messages import Ask, Decline, DeclineReason, Offer
from unit.protocol.averager import NEIGHBOURS, SETTINGS, WILLING, Stage, jobs, over, sent

NOT_SHARED = Decline(4, 0, DeclineReason.NOT_SHARING)
SPENT = Decline(4, 0, DeclineReason.DISCLOSURE_LIMIT)
ONE_SUM = dataclasses.replace(SETTINGS.sums, max_sums=1)


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
    stage = Stage(sums=ONE_SUM)  # ann offers each its model in round 0
    stage.linked("bea")
    assert jobs(stage.begin(4)) == [PrepareAsk(4, 0, ("cem", "dan"))]  # they may offer theirs yet
    assert stage.hear("bea", Ask(4, 0, b"query"))[-1].message == NOT_SHARED
    assert jobs(stage.hear("dan", Ask(4, 0, b"query"))) == [AnswerAsk("dan", 4, 0, b"query")]


def spent_unseen():
    """A stage of ann whose budget ended in round 0 while only bea was there, in its round 4."""
    stage = Stage(settled=False, sums=ONE_SUM)
    others = ("cem", "dan", "eve")
    for name in others:
        stage.machine.handle(Presence(name, here=False))
    offers = sent(stage.done(Adapt(0, (), ()), Adapted(WILLING)), Offer)
    assert offers["bea"] == Offer(0, False)
    assert over(stage.hear("bea", Offer(0, False)))
    for name in others:
        stage.machine.handle(Presence(name, here=True))
    (job,) = jobs(stage.begin(4))
    assert job == PrepareAsk(4, 0, NEIGHBOURS)  # they may offer theirs yet
    stage.done(job, Questions(dict.fromkeys(NEIGHBOURS, b"query")))
    return stage


def over_in_vain(stage):
    """A round of ann in which nobody answers or offers anything is over."""
    stage.expire()
    stage.done(Adapt(stage.round, (), ()), Adapted(WILLING))
    assert over(stage.expire())


def test_a_budget_that_is_used_up_unseen_is_said_to_be_so_once():
    """Two that had used up theirs while a third was away told each other cosines to the end."""
    stage = spent_unseen()
    before = told(stage)["bea"]
    assert stage.hear("bea", Ask(4, 0, b"query"))[-1].message == SPENT
    assert told(stage)["bea"] == (before[0], before[1] + REPLY_BITS)
    over_in_vain(stage)
    stage.begin(8)  # who asks again can offer its own
    assert jobs(stage.hear("bea", Ask(8, 0, b"query"))) == [AnswerAsk("bea", 8, 0, b"query")]
    assert told(stage)["bea"] == (before[0], before[1] + REPLY_BITS)


@pytest.mark.parametrize("late", [False, True])
def test_two_that_have_used_up_their_budgets_unseen_compare_nothing(late):
    stage = spent_unseen()
    if not late:
        stage.hear("bea", SPENT)
    over_in_vain(stage)
    if late:
        stage.begin(5)
        stage.hear("bea", SPENT)
        over_in_vain(stage)
    assert jobs(stage.begin(8)) == [PrepareAsk(8, 0, ("cem", "dan"))]
    assert stage.hear("bea", Ask(8, 0, b"query"))[-1].message == Decline(8, 0, SPENT.reason)


def test_an_offer_that_comes_late_counts_as_it_does_at_its_sender_and_once():
    stage = Stage(sums=ONE_SUM)
    stage.linked()
    stage.begin(1)
    for _ in range(2):
        stage.hear("bea", Offer(0, True))
    assert stage.machine.memory.peers["bea"].offers == 1
    assert stage.machine.memory.peers["cem"].offers == 0


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
