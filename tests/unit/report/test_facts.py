"""Sums over records agree with the records."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from securefair.records import QuantizationResult
from securefair.report import facts


def test_messages_are_summed_in_the_order_of_a_conversation(run):
    totals = facts.message_totals(run.traffic, "cycle")
    assert [one.message for one in totals] == [
        "hello",
        "keys",
        "features",
        "ask",
        "answer",
        "decline",
    ]
    assert sum(one.bytes for one in totals) == sum(row.bytes for row in run.traffic)
    assert facts.message_totals(run.traffic, "vpdl") == []


def test_messages_of_a_run_that_encrypts_nothing_are_told_apart(run):
    encryption = run.result.encryption
    masked = msgspec.structs.replace(encryption, ring_degree=0)
    for found, summed in ((None, False), (encryption, False), (masked, True)):
        totals = facts.message_totals(run.traffic, "cycle", found)
        assert {one.summed for one in totals} == {summed}
        assert not any(one.unencrypted for one in totals)
    clear = msgspec.structs.replace(encryption, backend="clear")
    totals = facts.message_totals(run.traffic, "cycle", clear)
    assert all(one.unencrypted for one in totals)


def test_what_is_sent_is_received(run):
    names = [one.name for one in run.result.participants]
    totals = facts.partner_totals(run.traffic, "cycle", names)
    assert sum(one.sent for one in totals) == sum(one.received for one in totals) > 0
    first = [row.bytes for row in run.traffic if row.sender == names[0]]
    assert totals[0].sent == sum(first)


def test_exchanges_and_rounds_tell_the_same_answers(run):
    rounds = facts.rounds_of(run.rounds, "cycle")
    sharing = facts.sharing_summary(rounds)
    exchanges = facts.exchange_summary(run.exchanges, "cycle")
    assert sharing.answered == exchanges.answers
    assert sharing.asked == exchanges.answers + exchanges.declines
    assert sharing.possible == 40 * 4 * 3
    answered = [row.teacher_seconds for row in run.exchanges if row.answered]
    assert exchanges.median_teacher_seconds == np.median(answered)


def test_nothing_recorded_is_nothing_summed():
    assert facts.sharing_summary([]) == facts.SharingSummary(0, 0, 0, 0)
    assert facts.exchange_summary([], "cycle") == facts.ExchangeSummary(0, 0, 0.0, 0.0)
    assert facts.teacher_disclosures([], "cycle") == []


def test_rounds_come_in_order(run):
    shuffled = run.rounds[::-1]
    assert [record.round for record in facts.rounds_of(shuffled, "vpdl")] == list(range(40))


def test_a_teachers_total_bounds_colluding_students(run):
    expected = Counter()
    for row in run.ledger:
        expected[row.teacher] += row.numbers_total
    totals = facts.teacher_disclosures(run.ledger, "cycle")
    assert {one.teacher: one.numbers for one in totals} == expected
    assert [one.numbers for one in totals] == sorted(expected.values(), reverse=True)
    assert {one.students for one in totals} == {3}


def test_the_ledger_shows_the_largest_first(run):
    numbers = [row.numbers_total for row in facts.ledger_of(run.ledger, "cycle")]
    assert numbers == sorted(numbers, reverse=True)


def test_the_cost_of_rounding_weights_is_that_of_whoever_it_hurts_most(run):
    people = run.result.participants
    assert facts.rounding_cost(people) is None
    rounded = [
        msgspec.structs.replace(
            one,
            quantization=QuantizationResult(
                weight_bits=11,
                max_abs_logit_change=0.01,
                accuracy_before=0.8,
                accuracy_after=after,
            ),
        )
        for one, after in zip(people, (0.8, 0.81, 0.77, 0.8), strict=True)
    ]
    assert facts.rounding_cost(rounded) == pytest.approx(0.03)


def test_controls_and_the_ceiling_are_no_collaborations(make_run):
    result = make_run(algorithms=("standalone", "early_stopping", "pooled", "vpdl")).result
    assert facts.collaborative(result) == ["vpdl"]
    assert facts.best_control(result) == "early_stopping"
    assert facts.over_best(result, "early_stopping") is None
    over = facts.over_best(result, "vpdl")
    stopped = result.algorithms["early_stopping"].accuracy
    together = result.algorithms["vpdl"].accuracy
    assert over.gain == pytest.approx([a - b for a, b in zip(together, stopped, strict=True)])


class TestTaught:
    def test_counts_answers_by_pair(self, run):
        own = facts.rounds_of(run.rounds, "cycle")
        taught = facts.taught(own)
        assert taught.rounds == 40
        assert taught.answers[1][2] == sum(record.answered[1][2] for record in own)
        assert taught.received[1] == sum(taught.answers[1])
        assert taught.given[2] == sum(row[2] for row in taught.answers)
        assert sum(taught.given) == sum(taught.received) == facts.sharing_summary(own).answered


class TestMilestones:
    def test_few_changes_are_all_shown_with_the_last_round(self, make_run):
        own = facts.rounds_of(make_run(rounds=13).rounds, "cycle")
        assert [record.round for record in facts.milestones(own)] == [0, 5, 10, 12]

    def test_a_last_round_that_changed_reputations_is_shown_once(self, make_run):
        own = facts.rounds_of(make_run(rounds=11).rounds, "cycle")
        assert [record.round for record in facts.milestones(own)] == [0, 5, 10]

    def test_of_many_some_are_chosen_from_first_to_last(self, run):
        own = facts.rounds_of(run.rounds, "cycle")
        chosen = [record.round for record in facts.milestones(own)]
        assert len(chosen) == len(set(chosen)) == 6
        assert (chosen[0], chosen[-1]) == (0, 39)
        assert chosen == sorted(chosen)
