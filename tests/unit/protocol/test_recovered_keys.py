"""A sum of which a sender dies between its part and its key: both sides, played by hand."""

import dataclasses

import pytest

from securefair.protocol.effects import (
    Begin,
    Done,
    Expired,
    Failed,
    Presence,
    Received,
    SetDeadline,
)
from securefair.protocol.jobs import (
    AnswerAsk,
    Answered,
    Combine,
    Combined,
    Imported,
    ImportPeer,
    KeyReleased,
    PartsReleased,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
    ReleaseKey,
    ReleaseParts,
)
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    PROTOCOL_VERSION,
    Answer,
    Ask,
    Decline,
    DeclineReason,
    Hello,
    Key,
    Keys,
    Parts,
    Recover,
    Reveal,
)
from securefair.protocol.settings import SumSettings
from securefair.protocol.states import RoundState
from securefair.protocol.stored import decode_memory, encode_memory
from unit.protocol.averager import SETTINGS, blamed, jobs, over, sent

PEERS = ("bea", "cem", "dan", "eve")
EVERYBODY = ("ann", *PEERS)
PART = {name: name.encode() * 10 + b"ab" for name in PEERS}  # of 32 bytes
OTHER = bytes(32)
SALT = {name: f"salt of {name:>8}".encode() for name in PEERS}


def recover(*lost, attempt=0):
    return Recover(0, attempt, lost, tuple(SALT.get(name, bytes(16)) for name in lost))


class Stage:
    """One machine of a transfer by sums: everybody is introduced, and asked by it."""

    def __init__(self, missing=1, *, recovers=True):
        senders = {name: tuple(other for other in EVERYBODY if other != name) for name in EVERYBODY}
        sums = SumSettings(
            name="ann", senders=senders, missing=missing, averages=False, recovers=recovers
        )
        settings = dataclasses.replace(
            SETTINGS, sums=sums, forced_every=1, always_share=True, setup_seconds=5.0
        )
        self.machine = ParticipantMachine("ann", PEERS, settings)
        self.hear_begin(0)
        self.done(PrepareKeysAndFeatures(), Prepared(Keys(0, b"own", b""), None))
        keys = Keys(0, b"theirs", b"")
        for peer in PEERS:
            self.hear(peer, Hello(PROTOCOL_VERSION, bytes(32)))
            self.hear(peer, keys)
            self.done(ImportPeer(peer, keys, None), Imported())
        questions = Questions(dict.fromkeys(PEERS, b"asked"))
        self.done(PrepareAsk(0, 0, PEERS, summed=True), questions)

    def hear_begin(self, number):
        return self.machine.handle(Begin(number, dict.fromkeys(PEERS, 0.5), number))

    def hear(self, sender, message):
        return self.machine.handle(Received(sender, message))

    def done(self, job, result):
        return self.machine.handle(Done(job, result))

    def expire(self):
        return self.machine.handle(Expired(0))

    def all_closed(self):
        for name in PEERS:
            effects = self.hear(name, Answer(0, 0, closed(name), True))
        assert set(sent(effects, Reveal)) == set(PEERS)
        return self

    def keys(self, *names):
        for name in names:
            effects = self.hear(name, key(name))
        return effects

    def parts(self, *names, of=1):
        for name in names:
            effects = self.hear(name, Parts(0, 0, (PART[name],) * of))
        return effects


def closed(name):
    return f"part {name}".encode() + SALT[name]


def key(name):
    return Key(0, 0, name.encode() * 10 + b"xy")


class TestStudent:
    def lost(self, missing=1, *names):
        """All parts are there, and the keys of all but these."""
        stage = Stage(missing).all_closed()
        stage.keys(*[name for name in PEERS if name not in names])
        return stage

    def test_the_others_are_asked_for_parts_of_a_key_that_does_not_come(self):
        stage = self.lost(1, "cem")
        effects = stage.expire()
        helping = ("bea", "dan", "eve")
        assert sent(effects, Recover) == dict.fromkeys(helping, recover("cem"))
        assert [one for one in effects if isinstance(one, SetDeadline)] == [SetDeadline(0, 15.0)]
        assert stage.machine.awaited == helping
        stage.parts("bea", "dan")
        (combine,) = jobs(stage.parts("eve"))
        assert combine == Combine(
            0,
            0,
            PEERS,
            {name: closed(name) for name in PEERS},
            {name: key(name).key for name in helping},
            {"cem": {name: PART[name] for name in helping}},
        )
        summary = over(stage.done(combine, Combined()))
        assert (summary.combined, summary.lost) == (PEERS, ())

    def test_as_many_as_are_enough_are_waited_for(self):
        stage = self.lost(2, "cem")
        stage.expire()
        stage.parts("bea")
        (combine,) = jobs(stage.parts("eve"))  # two of four: dan may die as well
        assert set(combine.parts["cem"]) == {"bea", "eve"}

    def test_one_that_is_too_short_to_have_a_salt_is_asked_about_all_the_same(self):
        """Its own sender is blamed where the sum is opened."""
        stage = Stage(1)
        for name in PEERS:
            stage.hear(name, Answer(0, 0, b"abc" if name == "cem" else closed(name), True))
        stage.keys("bea", "dan", "eve")
        asked = sent(stage.expire(), Recover)
        assert set(asked.values()) == {Recover(0, 0, ("cem",), (bytes(13) + b"abc",))}

    def test_two_are_recovered_where_two_may_be_missing(self):
        stage = self.lost(2, "bea", "cem")
        asked = sent(stage.expire(), Recover)
        assert asked == dict.fromkeys(("dan", "eve"), recover("bea", "cem"))
        (combine,) = jobs(stage.parts("dan", "eve", of=2))
        assert set(combine.parts) == {"bea", "cem"}
        assert set(combine.keys) == {"dan", "eve"}

    def test_more_than_may_be_missing_cost_the_sum(self):
        stage = self.lost(1, "bea", "cem")
        summary = over(stage.expire())
        assert (summary.combined, summary.lost) == ((), ("bea", "cem"))

    def test_nobody_is_recovered_where_a_project_is_older(self):
        stage = Stage(recovers=False).all_closed()
        stage.keys("bea", "dan", "eve")
        effects = stage.expire()
        assert not sent(effects, Recover)
        assert over(effects).lost == ("cem",)

    def test_nobody_is_recovered_in_a_sum_without_somebody(self):
        stage = Stage()
        for name in ("bea", "dan", "eve"):
            stage.hear(name, Answer(0, 0, b"part", True))
        left = ("bea", "dan", "eve")
        assert jobs(stage.expire()) == [PrepareAsk(0, 1, left, summed=True)]
        stage.done(PrepareAsk(0, 1, left, summed=True), Questions(dict.fromkeys(left, b"asked")))
        for name in left:
            stage.hear(name, Answer(0, 1, b"part", True))
        stage.hear("bea", Key(0, 1, bytes(32)))
        effects = stage.expire()
        assert not sent(effects, Recover)
        assert over(effects).lost == ("cem", "dan", "eve")

    def test_a_late_key_is_as_good(self):
        stage = self.lost(1, "cem")
        stage.expire()
        stage.parts("bea")
        (combine,) = jobs(stage.keys("cem"))
        assert not combine.parts
        assert set(combine.keys) == set(PEERS)

    def test_whoever_declines_to_give_its_key_is_stood_in_for_as_well(self):
        stage = Stage().all_closed()
        stage.keys("bea", "dan", "eve")
        effects = stage.hear("cem", Decline(0, 0, DeclineReason.FAILED, True))
        assert set(sent(effects, Recover)) == {"bea", "dan", "eve"}

    def test_nobody_waits_for_who_left(self):
        stage = self.lost(1, "cem")
        effects = stage.machine.handle(Presence("cem", here=False))
        assert set(sent(effects, Recover)) == {"bea", "dan", "eve"}

    def test_one_that_does_not_help_costs_the_sum_where_one_is_lost_already(self):
        stage = self.lost(1, "cem")
        stage.expire()
        stage.parts("bea", "dan")
        effects = stage.hear("eve", Decline(0, 0, DeclineReason.STALE, True))
        assert over(effects).lost == ("cem", "eve")

    def test_parts_that_nobody_asked_for_are_blamed(self):
        stage = self.lost(2, "cem")
        assert "not asked for" in blamed(stage.hear("bea", Parts(0, 0, (OTHER,)))).reason
        stage.expire()
        for name, message in (
            ("cem", Parts(0, 0, (OTHER,))),
            ("bea", Parts(0, 0, (OTHER, OTHER))),
            ("bea", Parts(0, 1, (OTHER,))),
        ):
            assert "not asked for" in blamed(stage.hear(name, message)).reason
        stage.parts("bea")
        assert stage.parts("bea") == []  # again
        assert "not asked for" in blamed(stage.hear("bea", Parts(0, 0, (OTHER,)))).reason

    def test_a_sum_under_recovery_outlives_its_process(self):
        stage = self.lost(1, "cem")
        stage.expire()
        stage.parts("bea")
        memory = stage.machine.memory
        written, apart = encode_memory(memory)
        assert decode_memory(written, apart.__getitem__) == memory

    def test_parts_that_do_not_open_it_are_said(self):
        stage = self.lost(1, "cem")
        stage.expire()
        (combine,) = jobs(stage.parts("bea", "dan", "eve"))
        summary = over(stage.machine.handle(Failed(combine, "out of range", None)))
        assert summary.sum_error == "out of range"
        assert stage.machine.memory.state is RoundState.IDLE


class TestTeacher:
    def stage(self, missing=1, senders=("ann", "cem", "dan", "eve"), *, gave_key=True, **changes):
        stage = Stage(missing, **changes)
        (job,) = jobs(stage.hear("bea", Ask(0, 0, b"w", 0, senders)))
        assert isinstance(job, AnswerAsk)
        stage.done(job, Answered(b"closed"))
        if gave_key:
            (job,) = jobs(stage.hear("bea", Reveal(0, 0)))
            assert isinstance(job, ReleaseKey)
            stage.done(job, KeyReleased(bytes(32)))
        return stage

    def test_parts_are_given_once_and_repeated_as_they_are(self):
        stage = self.stage()
        (job,) = jobs(stage.hear("bea", recover("cem")))
        senders, salts = ("ann", "cem", "dan", "eve"), (SALT["cem"],)
        assert job == ReleaseParts("bea", 0, 0, senders, ("cem",), salts)
        assert stage.hear("bea", recover("cem")) == []
        parts = Parts(0, 0, (OTHER,))
        assert sent(stage.done(job, PartsReleased((OTHER,))), Parts) == {"bea": parts}
        again = stage.hear("bea", recover("cem"))
        assert not jobs(again)
        assert sent(again, Parts) == {"bea": parts}

    def test_parts_that_cannot_be_made_are_declined_to_whoever_asks_again(self):
        stage = self.stage()
        (job,) = jobs(stage.hear("bea", recover("cem")))
        declined = {"bea": Decline(0, 0, DeclineReason.FAILED, True)}
        assert sent(stage.machine.handle(Failed(job, "no part", None)), Decline) == declined
        assert sent(stage.hear("bea", recover("cem")), Decline) == declined

    @pytest.mark.parametrize(
        "lost", [(), ("ann",), ("cem", "dan"), ("bea",), ("zoe",)],
        ids=["nobody", "itself", "too many", "the student", "a stranger"],
    )  # fmt: skip
    def test_parts_of_other_keys_are_refused(self, lost):
        stage = self.stage()
        before = stage.machine.memory
        blame = blamed(stage.hear("bea", recover(*lost)))
        assert "other keys than a sum may lose" in blame.reason
        assert stage.machine.memory is before

    def test_other_keys_than_the_first_time_are_refused(self):
        stage = self.stage(2)
        stage.hear("bea", recover("cem"))
        blame = blamed(stage.hear("bea", recover("cem", "dan")))
        assert "other keys than a sum may lose" in blame.reason

    def test_neither_are_parts_for_another_salt_than_the_first(self):
        """They would be of another key of the same hospital."""
        stage = self.stage()
        for salts in ((), (SALT["cem"], SALT["dan"])):
            blame = blamed(stage.hear("bea", Recover(0, 0, ("cem",), salts)))
            assert "other keys than a sum may lose" in blame.reason
        (job,) = jobs(stage.hear("bea", recover("cem")))
        other = Recover(0, 0, ("cem",), (SALT["dan"],))
        assert "other keys than a sum may lose" in blamed(stage.hear("bea", other)).reason
        stage.done(job, PartsReleased((OTHER,)))
        assert "other keys than a sum may lose" in blamed(stage.hear("bea", other)).reason

    def test_no_part_before_the_own_key(self):
        stage = self.stage(gave_key=False)
        for message in (recover("cem"), recover("cem", attempt=1)):
            assert "before the own one" in blamed(stage.hear("bea", message)).reason

    def test_none_of_a_sum_that_lacks_somebody_already(self):
        stage = self.stage(senders=("ann", "cem", "dan"))
        blame = blamed(stage.hear("bea", recover("cem")))
        assert "at most 0 of" in blame.reason

    def test_none_in_an_older_project(self):
        stage = self.stage(recovers=False)
        assert "at most 0 of" in blamed(stage.hear("bea", recover("cem"))).reason

    def test_a_failure_is_a_decline(self):
        stage = self.stage()
        (job,) = jobs(stage.hear("bea", recover("cem")))
        effects = stage.machine.handle(Failed(job, "no key", None))
        assert sent(effects, Decline)["bea"].reason is DeclineReason.FAILED

    def test_a_round_that_is_long_over_is_said_to_be(self):
        stage = self.stage()
        stage.expire()
        for number in (1, 2):
            (job,) = jobs(stage.hear_begin(number))
            stage.machine.handle(Failed(job, "no question", None))
        effects = stage.hear("bea", recover("cem"))
        assert sent(effects, Decline)["bea"].reason is DeclineReason.STALE
