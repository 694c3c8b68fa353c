"""A receiver may know senders that this participant has not heard of yet: hospitals start apart."""

from securefair.protocol.effects import Begin, Done, Received, Run, Send, SetDeadline
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    Imported,
    ImportPeer,
    MakeShare,
    Prepared,
    PrepareKeysAndFeatures,
)
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import PROTOCOL_VERSION, Hello, Keys, Offer, ShareRequest
from securefair.protocol.settings import GossipSettings, MachineSettings

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
    gossip=GossipSettings(
        name="me",
        senders={name: tuple(sorted({"me", *PEERS} - {name})) for name in ("me", *PEERS)},
        aligns=False,
    ),
)


def done(machine, effects, kind, result):
    (job,) = [effect.job for effect in effects if isinstance(effect, Run)]
    assert isinstance(job, kind)
    return machine.handle(Done(job, result))


def introduced(machine, peer):
    machine.handle(Received(peer, Hello(PROTOCOL_VERSION, bytes(32), None)))
    effects = machine.handle(Received(peer, Keys(0, b"k", b"")))
    return done(machine, effects, ImportPeer, Imported())


def begun():
    machine = ParticipantMachine("me", PEERS, SETTINGS)
    effects = machine.handle(Begin(0, dict.fromkeys(PEERS, 0.0), teacher_version=0))
    jobs = {type(effect.job): effect.job for effect in effects if isinstance(effect, Run)}
    machine.handle(Done(jobs[PrepareKeysAndFeatures], Prepared(Keys(0, b"k", b""), None)))
    result = Adapted(dict.fromkeys(PEERS, 1.0))
    return machine, machine.handle(Done(jobs[Adapt], result))


def made(effects):
    return [e.job for e in effects if isinstance(e, Run) and isinstance(e.job, MakeShare)]


def test_a_part_waits_for_the_keys_of_all_senders():
    machine, _ = begun()
    introduced(machine, "a")
    introduced(machine, "b")
    request = ShareRequest(0, 0, ("b", "c", "me"), b"?")
    assert made(machine.handle(Received("a", request))) == []
    assert made(machine.handle(Received("a", request))) == []  # repeated
    (job,) = made(introduced(machine, "c"))
    assert (job.peer, job.senders) == ("a", ("b", "c", "me"))


def test_a_later_attempt_without_the_unknown_is_made_at_once():
    machine, _ = begun()
    introduced(machine, "a")
    introduced(machine, "b")
    machine.handle(Received("a", ShareRequest(0, 0, ("b", "c", "me"), b"?")))
    (job,) = made(machine.handle(Received("a", ShareRequest(0, 1, ("b", "me"), b"?"))))
    assert job.attempt == 1
    assert made(introduced(machine, "c")) == []


def test_the_first_round_has_time_for_introductions_when_offers_are_awaited():
    _, effects = begun()
    (deadline,) = [effect for effect in effects if isinstance(effect, SetDeadline)]
    assert deadline.seconds == 510.0


def test_an_offer_goes_to_who_is_introduced_late():
    machine, _ = begun()
    effects = machine.handle(Received("a", Hello(PROTOCOL_VERSION, bytes(32), None)))
    assert Send("a", Offer(0, True)) in effects
