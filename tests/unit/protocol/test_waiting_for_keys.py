"""A receiver may know senders that this participant has not heard of yet: hospitals start apart."""

from securefair.protocol.effects import Begin, Done, Expired, Presence, Received, Run, SetDeadline
from securefair.protocol.jobs import (
    AnswerAsk,
    Imported,
    ImportPeer,
    PrepareAsk,
    Prepared,
    Questions,
)
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import PROTOCOL_VERSION, Ask, Hello, Keys
from securefair.protocol.settings import MachineSettings, SumSettings

PEERS = ("a", "b", "c")
SETTINGS = MachineSettings(
    collaboration=bytes(32),
    forced_every=1,
    always_share=False,
    disclosure=DisclosurePolicy(
        release="projection",
        classes=1,
        rows=4,
        teacher_parameters=9,
        fraction_per_version=1.0,
    ),
    round_seconds=10.0,
    setup_seconds=500.0,
    sums=SumSettings(
        name="me",
        senders={name: tuple(sorted({"me", *PEERS} - {name})) for name in ("me", *PEERS)},
        averages=False,
    ),
)


def done(machine, effects, kind, result):
    (job,) = [e.job for e in effects if isinstance(e, Run) and isinstance(e.job, kind)]
    return machine.handle(Done(job, result))


def introduced(machine, peer):
    machine.handle(Received(peer, Hello(PROTOCOL_VERSION, bytes(32), None)))
    effects = machine.handle(Received(peer, Keys(0, b"k", b"")))
    return done(machine, effects, ImportPeer, Imported())


def begun():
    machine = ParticipantMachine("me", PEERS, SETTINGS)
    effects = machine.handle(Begin(0, dict.fromkeys(PEERS, 0.0), teacher_version=0))
    (job,) = [effect.job for effect in effects if isinstance(effect, Run)]
    machine.handle(Done(job, Prepared(Keys(0, b"k", b""), None)))
    return machine, effects


def jobs(effects, kind):
    return [e.job for e in effects if isinstance(e, Run) and isinstance(e.job, kind)]


def made(effects):
    return jobs(effects, AnswerAsk)


def test_a_part_waits_for_the_keys_of_all_senders():
    machine, _ = begun()
    introduced(machine, "a")
    introduced(machine, "b")
    request = Ask(0, 0, b"?", 0, ("b", "c", "me"))
    assert made(machine.handle(Received("a", request))) == []
    assert made(machine.handle(Received("a", request))) == []  # repeated
    (job,) = made(introduced(machine, "c"))
    assert (job.peer, job.senders) == ("a", ("b", "c", "me"))


def test_a_later_attempt_without_the_unknown_is_made_at_once():
    machine, _ = begun()
    introduced(machine, "a")
    introduced(machine, "b")
    machine.handle(Received("a", Ask(0, 0, b"?", 0, ("b", "c", "me"))))
    (job,) = made(machine.handle(Received("a", Ask(0, 1, b"?", 0, ("b", "me")))))
    assert job.attempt == 1
    assert made(introduced(machine, "c")) == []


def test_everybody_is_asked_once_all_are_introduced():
    machine, effects = begun()
    deadline = [effect for effect in effects if isinstance(effect, SetDeadline)][-1]
    assert deadline.seconds == 510.0  # the first round has time for introductions
    assert not jobs(introduced(machine, "a"), PrepareAsk)
    assert not jobs(introduced(machine, "b"), PrepareAsk)
    (job,) = jobs(introduced(machine, "c"), PrepareAsk)
    assert job == PrepareAsk(0, 0, PEERS, summed=True)


def test_at_the_deadline_those_who_are_there_are_asked():
    machine, _ = begun()
    introduced(machine, "a")
    introduced(machine, "b")
    (job,) = jobs(machine.handle(Expired(0)), PrepareAsk)
    assert job.teachers == ("a", "b")
    alone, _ = begun()
    introduced(alone, "a")
    (over,) = alone.handle(Expired(0))
    assert over.summary.combined == ()


def test_whoever_is_away_is_not_waited_for():
    machine, _ = begun()
    introduced(machine, "a")
    introduced(machine, "b")
    (job,) = jobs(machine.handle(Presence("c", here=False)), PrepareAsk)
    assert job.teachers == ("a", "b")


def test_a_question_of_the_next_round_waits_for_it():
    machine, _ = begun()
    for peer in PEERS:
        introduced(machine, peer)
    ahead = Ask(1, 0, b"?", 0, ("b", "c", "me"))
    assert made(machine.handle(Received("a", ahead))) == []
    machine.handle(Done(PrepareAsk(0, 0, PEERS, summed=True), Questions({})))
    (job,) = made(machine.handle(Begin(1, dict.fromkeys(PEERS, 0.0), teacher_version=1)))
    assert (job.peer, job.round) == ("a", 1)


def test_in_later_rounds_nobody_has_the_time_for_setup_again():
    """Whoever dies as it renews its keys would cost a day."""
    machine, _ = begun()
    introduced(machine, "a")
    introduced(machine, "b")
    machine.handle(Expired(0))
    machine.handle(Done(PrepareAsk(0, 0, ("a", "b"), summed=True), Questions({})))
    effects = machine.handle(Begin(1, dict.fromkeys(PEERS, 0.0), teacher_version=1))
    assert machine.awaited == ("c",)  # it has sent no keys
    assert {e.seconds for e in effects if isinstance(e, SetDeadline)} == {10.0}
