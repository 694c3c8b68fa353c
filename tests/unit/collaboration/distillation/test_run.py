import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.config import DisclosureSection
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import SecureFairError
from securefair.model.quantize import quantize_at
from securefair.model.training import evaluate
from securefair.sites.couriers.memory import Faults, Link
from support.agreements import agree
from support.simulated import start_run

pytestmark = pytest.mark.slow


def start(hospitals, *, always_share=False, weight_bits=12, key_openings=64, **options):
    agreed = agree(
        "vpdl" if always_share else "cycle",
        hospitals,
        samples=max(len(own.train) for own in hospitals),
        kind="linear",
        local_epochs=3,
        q=4,
        weight_bits=weight_bits,
        key_openings=key_openings,
        **({} if always_share else {"forced_every": 2}),
        round_seconds=10.0,
        setup_seconds=10.0,
    )
    defaults = {"seed": 1, "backend": "clear", "disclosure": DisclosureSection(fraction=None)}
    return start_run(
        "vpdl" if always_share else "cycle",
        hospitals,
        agreed,
        **(defaults | options),
    )


@pytest.mark.parametrize("always_share", [False, True])
def test_keys_are_renewed_after_so_many_answers_of_a_peer(hospitals, always_share):
    """Also where everybody shares always, which charges no bit: and nothing else changes."""
    records = {}
    for most in (64, 2):
        run = start(hospitals, always_share=always_share, key_openings=most)
        records[most] = [(one.accuracy, one.answered) for one in run.rounds(5)]
        renewed = {own.machine.memory.upload.renewal for own in run.hosts.values()}
        assert run.problems == []
        if most == 64:
            assert renewed == {0}
        else:
            assert (renewed == {2}) if always_share else max(renewed) in (1, 2)
    assert records[2] == records[64]


class TestRecords:
    def test_rounds_are_recorded_as_they_end(self, hospitals):
        run = start(hospitals)
        rounds = run.rounds(3)
        assert next(rounds).round == 0
        assert len(run.exchanges) == 6
        assert [(r.round, r.forced) for r in rounds] == [(1, False), (2, True)]

    def test_numbers_are_those_of_the_participants(self, hospitals):
        run = start(hospitals)
        *_, record = run.rounds(2)
        everyone = list(run.hosts.values())
        tested = [evaluate(own.train_state.model, own.data.test).accuracy for own in everyone]
        trained = [
            evaluate(own.train_state.model, own.data.train).cross_entropy for own in everyone
        ]
        assert record.accuracy == tested
        assert record.cross_entropy == trained
        for row, own in zip(record.reputation, everyone, strict=True):
            assert row == [own.machine.reputations.get(name) for name in run.hosts]

    def test_matrices_hold_nothing_where_nothing_happened(self, hospitals):
        first, second = start(hospitals).rounds(2)
        off = ~np.eye(3, dtype=bool)
        assert (np.array(first.answered) == off).all()
        assert ((np.array(first.alignment) != None) == off).all()  # noqa: E711 (element by element)
        assert ((np.array(first.distillation_loss) != None) == off).all()  # noqa: E711
        answered = np.array(second.answered)
        assert ((np.array(second.distillation_loss) != None) == answered).all()  # noqa: E711
        assert (np.array(second.alignment) == None).all()  # noqa: E711 (not a forced round)
        assert (answered <= np.array(second.asked)).all()

    def test_vpdl_forces_nothing_and_trusts_everyone(self, hospitals):
        for record in start(hospitals, always_share=True).rounds(3):
            assert not record.forced
            assert record.reputation == [[None, 1, 1], [1, None, 1], [1, 1, None]]
            assert (
                record.answered
                == record.asked
                == [[False, True, True], [True, False, True], [True, True, False]]
            )
            assert record.alignment == [[None] * 3] * 3

    def test_equal_seeds_give_equal_records_and_others_do_not(self, hospitals):
        once, again = (list(start(hospitals).rounds(3)) for _ in range(2))
        assert once == again
        assert list(start(hospitals, seed=2).rounds(3)) != once

    def test_auditing_changes_nothing(self, hospitals):
        run = start(hospitals, audit=False)
        assert list(run.rounds(3)) == list(start(hospitals).rounds(3))
        assert run.observer.audit is None


class TestAccounts:
    def test_every_query_is_an_exchange(self, hospitals):
        run = start(hospitals)
        records = list(run.rounds(4))
        for record in records:
            rows = [e for e in run.exchanges if e.round == record.round]
            asked = {(n, k) for n in range(3) for k in range(3) if record.asked[n][k]}
            assert {("abc".index(e.student), "abc".index(e.teacher)) for e in rows} == asked
            for e in rows:
                assert e.answered == record.answered["abc".index(e.student)]["abc".index(e.teacher)]
                assert e.bytes_up > 0
                assert (e.bytes_down > 0) == e.answered == (e.teacher_seconds > 0)
                assert (e.student_seconds > 0) == e.answered

    def test_the_ledger_counts_answers(self, hospitals):
        run = start(hospitals)
        list(run.rounds(4))
        assert len(run.ledger) == 6
        for row in run.ledger:
            answers = sum(
                e.answered
                for e in run.exchanges
                if (e.student, e.teacher) == (row.student, row.teacher)
            )
            assert (row.answers, row.numbers_per_answer) == (answers, 8)
            assert row.numbers_total == 8 * answers
            assert row.algorithm == "cycle"

    def test_traffic_adds_up_to_the_exchanges(self, hospitals):
        run = start(hospitals)
        list(run.rounds(4))
        sent = {
            word: sum(row.bytes for row in run.traffic if row.message == word)
            for word in ("hello", "keys", "features", "ask", "answer")
        }
        assert sent["ask"] == sum(e.bytes_up for e in run.exchanges)
        assert sent["answer"] == sum(e.bytes_down for e in run.exchanges)
        assert all(sent.values())

    def test_a_teacher_stops_at_its_limit(self, hospitals):
        run = start(hospitals, always_share=True, disclosure=DisclosureSection(student_total=20))
        answered = [np.sum(record.answered) for record in run.rounds(4)]
        assert answered == [6, 6, 0, 0]  # 8 numbers an answer
        assert max(row.numbers_total for row in run.ledger) == 16
        assert run.problems == []


class TestQuantization:
    def test_it_compares_the_last_models_with_their_rounded_twins(self, hospitals):
        run = start(hospitals)
        list(run.rounds(2))
        scales = [spec.log2_scale for spec in plan_exchange(run.observer.collaboration.spec).specs]
        for own, report in zip(
            run.hosts.values(), run.observer.quantization(run.hosts), strict=True
        ):
            x = own.data.test
            before = own.train_state.model.logits(x.features)
            after = quantize_at(own.train_state.model.folded(), scales).logits(x.features)
            assert report.max_abs_logit_change == pytest.approx(np.abs(after - before).max())
            assert report.accuracy_before == evaluate(own.train_state.model, x).accuracy
            assert report.accuracy_after == np.mean(after.argmax(axis=1) == x.labels)
            assert 0 < report.max_abs_logit_change < 0.02

    def test_fewer_bits_change_more(self, hospitals):
        few, many = (
            max(r.max_abs_logit_change for r in run.observer.quantization(run.hosts))
            for run in (start(hospitals, weight_bits=bits) for bits in (6, 14))
        )
        assert many < few / 64


class TestFaults:
    def test_a_link_can_be_faulty_by_itself(self, hospitals):
        broken = {("a", "b"): Link(faults=Faults(drop=1.0))}
        (record,) = start(hospitals, links=broken).rounds(1)
        assert record.answered[1] == [False, False, True]
        assert record.answered[0] == [False, False, True]  # b never heard of a's keys
        assert record.answered[2] == [True, True, False]

    def test_own_samples_that_cannot_be_uploaded_end_the_run(self, hospitals):
        own = hospitals[1]
        train = Samples(3 * own.train.features, own.train.labels, 2)
        hospitals[1] = ParticipantData("b", train, own.test)
        with pytest.raises(SecureFairError, match=r"^b, round 0: feature: features exceed"):
            list(start(hospitals).rounds(2))
