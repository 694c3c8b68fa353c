"""The engine decides nothing: it moves bytes, runs jobs and keeps time."""

import numpy as np
import pytest

from securefair.collaboration.distillation.participant import ModelConfig, Participant
from securefair.errors import EncryptionError, LocalProtocolError
from securefair.protocol.codec import kind_of
from securefair.protocol.effects import SetDeadline
from securefair.protocol.jobs import AnswerAsk, OpenAnswer
from securefair.simulation.engine import Engine, ExchangeBytes
from securefair.simulation.network import Faults, Link, Network
from securefair.worth.sharing import coin
from support.agreements import agree

ROUND_SECONDS, SETUP_SECONDS, SEED = 10.0, 5.0, 4
SILENT = Link(faults=Faults(drop=1.0))


@pytest.fixture
def agreed(hospitals):
    return agree(
        "cycle",
        hospitals,
        samples=max(len(own.train) for own in hospitals),
        kind="linear",
        q=4,
        forced_every=3,
        round_seconds=ROUND_SECONDS,
        setup_seconds=SETUP_SECONDS,
    )


@pytest.fixture
def make_engine(hospitals, agreed):
    """An engine, its network and participants whose `run` a test may replace."""

    def make(kind=Engine, **network):
        model = ModelConfig(kind="linear", local_epochs=2)
        participants = [
            Participant(own, agreed, model, seed=1, backend="clear") for own in hospitals
        ]
        wires = Network(
            list(agreed.participants), classify=kind_of, rng=np.random.default_rng(0), **network
        )
        return kind(participants, agreed, wires, seed=SEED), wires

    return make


def failing(participant, kind, error):
    """Let one kind of job of a participant fail."""
    run = participant.run

    def instead(job):
        if isinstance(job, kind):
            raise error
        return run(job)

    participant.run = instead


class TestRound:
    def test_everyone_ends_and_everyone_answered_everyone(self, make_engine):
        engine, _ = make_engine()
        log = engine.round(0)
        assert list(engine.participants) == ["a", "b", "c"]
        for name, summary in log.summaries.items():
            assert set(summary.opened) == set("abc") - {name}
            assert summary.forced
            assert summary.step_error is None
        assert log.blames == log.failures == []

    def test_coins_are_those_of_the_reference(self, make_engine):
        engine, _ = make_engine()
        engine.round(0)
        before = {name: own.machine.reputations for name, own in engine.participants.items()}
        log = engine.round(1)
        for student, summary in log.summaries.items():
            asked = [k for k in "abc" if k != student and (before[student][k] or 0) > 0]
            assert list(summary.asked) == asked
            shared = [k for k in asked if coin(SEED, 1, k, student) <= before[k][student]]
            assert list(summary.opened) == shared

    def test_sizes_count_queries_up_and_answers_down(self, make_engine):
        engine, network = make_engine()
        log = engine.round(0)
        assert set(log.sizes) == {(n, k) for n in "abc" for k in "abc" if n != k}
        for (student, teacher), size in log.sizes.items():
            sent = network.traffic
            assert size.up == sent[student, teacher, "ask"].bytes
            assert size.down == sent[teacher, student, "answer"].bytes
        assert engine.round(1).sizes.keys() <= log.sizes.keys()  # each round has its own log

    def test_a_declined_query_costs_its_question_only(self, make_engine):
        engine, _ = make_engine()
        failing(engine.participants["b"], AnswerAsk, EncryptionError("cannot"))
        size = engine.round(0).sizes["a", "b"]
        assert size.up > 0
        assert size == ExchangeBytes(size.up, 0)

    def test_nothing_is_left_on_the_wire(self, make_engine):
        engine, network = make_engine(link=Link(latency=3 * ROUND_SECONDS))
        engine.round(0)
        assert network.next_time is None

    def test_rounds_out_of_order_are_the_hosts_mistake(self, make_engine):
        engine, _ = make_engine()
        engine.round(0)
        engine.round(2)  # one may be left out: everybody was away
        with pytest.raises(LocalProtocolError, match="rounds follow each other"):
            engine.round(1)


class TestTime:
    def test_an_undisturbed_round_takes_no_time(self, make_engine):
        engine, network = make_engine()
        engine.round(0)
        assert network.now == 0.0

    def test_silence_lasts_until_the_deadline_and_its_setup(self, make_engine):
        engine, network = make_engine(link=SILENT)
        log = engine.round(0)
        assert network.now == ROUND_SECONDS + SETUP_SECONDS
        assert all(len(summary.missed) == 2 for summary in log.summaries.values())
        engine.round(1)  # nobody has a reputation of anybody: nothing to wait for
        assert network.now == ROUND_SECONDS + SETUP_SECONDS
        engine.round(2)
        engine.round(3)
        assert network.now == 2 * ROUND_SECONDS + SETUP_SECONDS

    def test_only_those_who_miss_something_wait(self, make_engine):
        engine, network = make_engine(links={("c", "a"): SILENT})
        log = engine.round(0)
        assert log.summaries["a"].missed == ("c",)
        assert log.summaries["b"].missed == ()
        assert network.now == ROUND_SECONDS + SETUP_SECONDS

    def test_late_answers_arrive_before_the_next_round_and_are_not_used(self, make_engine):
        engine, network = make_engine(links={("c", "a"): Link(latency=100.0)})
        log = engine.round(0)
        assert network.now >= 100.0
        assert log.summaries["a"].missed == ("c",)
        assert log.blames == []

    def test_without_deadlines_a_stuck_round_is_told(self, make_engine):
        class Timeless(Engine):
            def _carry_out(self, name, effect):
                if not isinstance(effect, SetDeadline):
                    super()._carry_out(name, effect)

        engine, _ = make_engine(kind=Timeless, link=SILENT)
        with pytest.raises(LocalProtocolError, match="the round is stuck"):
            engine.round(0)


class TestFaults:
    def test_a_failed_job_is_logged_and_told_to_the_machine(self, make_engine):
        engine, _ = make_engine()
        failing(engine.participants["b"], AnswerAsk, EncryptionError("no luck", hint="Retry"))
        log = engine.round(0)
        assert {(name, failed.error) for name, failed in log.failures} == {("b", "no luck. Retry")}
        assert set(log.summaries["a"].declined) == {"b"}
        assert log.summaries["a"].opened == ("c",)

    def test_an_answer_that_cannot_be_opened_blames_its_sender(self, make_engine):
        engine, _ = make_engine()
        failing(engine.participants["a"], OpenAnswer, EncryptionError("garbage"))
        log = engine.round(0)
        assert {(name, blame.peer) for name, blame in log.blames} == {("a", "b"), ("a", "c")}
        assert set(log.summaries["a"].failed) == {"b", "c"}

    def test_anything_else_that_is_raised_is_a_bug_and_not_hidden(self, make_engine):
        engine, _ = make_engine()
        failing(engine.participants["b"], AnswerAsk, ZeroDivisionError("bug"))
        with pytest.raises(ZeroDivisionError):
            engine.round(0)

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"", "too short"),
            (b"\xff" * 40, "another format version"),
            (b"\x01\xff", "unknown message type"),
            (b"\x01\x03{}", "breaks its schema"),
        ],
        ids=["empty", "version", "type", "schema"],
    )
    def test_bytes_that_are_no_message_blame_their_sender(self, data, reason, make_engine):
        engine, network = make_engine()
        network.send("c", "a", data)
        log = engine.round(0)
        ((receiver, blame),) = log.blames
        assert (receiver, blame.peer) == ("a", "c")
        assert "peer c: " in blame.reason
        assert reason in blame.reason
        assert len(log.summaries["a"].opened) == 2  # the honest messages count all the same

    def test_an_oversized_message_is_refused_before_it_is_decoded(self, make_engine, agreed):
        engine, network = make_engine()
        network.send("c", "a", b"\x01\x0e" + bytes(10 * agreed.limits.answer))
        ((_, blame),) = engine.round(0).blames
        assert "too long" in blame.reason
