"""Sites of one process: time, faults, what they keep, and what a bug or a failure looks like."""

import dataclasses
import itertools

import numpy as np
import pytest

from contract.kinds import SEED, begun, configured, everyone
from securefair.collaboration import PublicFacts
from securefair.collaboration.kinds import kind_of
from securefair.errors import LocalProtocolError, SecureFairError
from securefair.protocol.messages import OLDEST_PROTOCOL
from securefair.sites.couriers.memory import Faults, Link
from securefair.sites.simulation.starting import simulated


def started(name="cycle", **town):
    kind, config, data = (
        kind_of(name),
        configured(name, **{"encryption.backend": "clear"}),
        everyone(),
    )
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    return simulated(kind, agreement, data, seed=SEED, **town)


def test_an_undisturbed_round_takes_no_time_and_leaves_nothing_on_the_way():
    run = started()
    list(run.rounds(2))
    assert run.town.courier.now == 0.0
    assert run.town.courier.next_time is None


def test_a_slow_link_takes_its_time_and_changes_no_record():
    instant, slow = started(), started(link=Link(latency=2.0))
    assert list(instant.rounds(2)) == list(slow.rounds(2))
    assert slow.town.courier.now >= 2 * 2.0
    assert slow.traffic == instant.traffic


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_round_ends_whatever_the_courier_does(seed):
    rng = np.random.default_rng(seed)
    names = [own.name for own in everyone()]
    links = {
        pair: Link(latency=rng.uniform(0, 30), faults=Faults(drop=0.3, reorder=0.3, spread=60.0))
        for pair in itertools.permutations(names, 2)
    }
    run = started(links=links)
    assert len(list(run.rounds(2))) == 2
    assert run.problems == []


def test_a_failed_job_is_a_problem_and_told_to_its_machine():
    run = started()
    own = run.hosts["North"]
    real = own.run

    def failing(job):
        if type(job).__name__ == "AnswerAsk":
            raise SecureFairError("no answer today")
        return real(job)

    own.run = failing
    (record,) = run.rounds(1)
    assert not any(row[0] for row in record.answered)
    assert run.problems.count("North: no answer today") == 2


def test_what_is_no_message_is_blamed_on_its_sender():
    run = started()
    send = run.town.courier.send

    def spoilt(sender, receiver, frame, sequence=0):
        spoil = sender == "South" and len(frame) > 200
        send(sender, receiver, b"\x01nonsense" if spoil else frame, sequence)

    run.town.courier.send = spoilt
    list(run.rounds(1))
    assert any(problem.startswith("North blames South: ") for problem in run.problems)
    assert not any(problem.startswith("South blames") for problem in run.problems)


def test_a_bug_is_not_hidden():
    run = started()

    def broken(_):
        raise ZeroDivisionError

    run.hosts["East"].run = broken
    with pytest.raises(ZeroDivisionError):
        list(run.rounds(1))


def test_a_round_that_is_not_over_has_no_records():
    with pytest.raises(LocalProtocolError, match="not over"):
        started().town.records(0)


def test_problems_are_kept_in_the_stores(tmp_path):
    first, _ = begun("cycle", "clear", folder=tmp_path)
    own, real = first.hosts["North"], first.hosts["North"].run

    def failing(job):
        if type(job).__name__ == "AnswerAsk":
            raise SecureFairError("no answer today")
        return real(job)

    own.run = failing
    list(first.rounds(1))
    first.close()
    later, _ = begun("cycle", "clear", folder=tmp_path)
    assert later.problems == first.problems != []
    later.close()


def test_a_closed_town_can_be_opened_again(tmp_path):
    started(folder=tmp_path).close()
    again = started(folder=tmp_path)  # the locks are free
    assert len(list(again.rounds(2))) == 2
    again.close()


@pytest.mark.slow
def test_hello_and_keys_went_to_everybody_before_groups():
    """48 hospitals sent 2,256 of each; today's messages are those of `test_growth`."""
    assert messages_of(18, protocol=OLDEST_PROTOCOL) == 18 * (4 * 8 + 2 * 17)  # groups of nine


def messages_of(count, **facts):
    config = configured("transfer", **{"encryption.backend": "clear", "transfer.sums": "gradient"})
    [own, *_] = everyone()
    data = [dataclasses.replace(own, name=f"h{number:02d}") for number in range(count)]
    kind = kind_of("transfer")
    known = dataclasses.replace(PublicFacts.of(data), **facts)
    agreement = kind.agree(config, known, seed=SEED)
    run = simulated(kind, agreement, data, seed=SEED)
    list(run.rounds(1))
    assert run.problems == []
    return sum(row.count for row in run.traffic)
