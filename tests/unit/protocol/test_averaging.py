"""Receiving and sending on one machine, with its peers played by hand."""

import dataclasses

import pytest

from securefair.errors import ConfigError, LocalProtocolError
from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Expired,
    Failed,
    Received,
    RoundOver,
    Run,
    Send,
)
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    AskSum,
    Combine,
    Combined,
    Imported,
    ImportPeer,
    KeyReleased,
    MakeShare,
    Prepared,
    PrepareKeysAndFeatures,
    ReleaseKey,
    ShareMade,
    SumAsked,
)
from securefair.protocol.ledger import DisclosurePolicy, Release
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    PROTOCOL_VERSION,
    DeclineReason,
    Hello,
    Keys,
    Offer,
    Refusal,
    Share,
    ShareKey,
    ShareRequest,
    ShareReveal,
)
from securefair.protocol.settings import GossipSettings, MachineSettings

PEERS = ("bea", "cem", "dan", "eve")
NEIGHBOURS = PEERS[:3]
SETTINGS = MachineSettings(
    collaboration=bytes(32),
    forced_every=4,
    always_share=False,
    disclosure=DisclosurePolicy(
        release=Release.ALIGNMENT,
        classes=2,
        rows=1,
        teacher_parameters=100,
        fraction_per_version=None,
    ),
    round_seconds=10.0,
    gossip=GossipSettings(name="ann", neighbours=NEIGHBOURS),
)
WILLING = dict.fromkeys(NEIGHBOURS, 1.0)


class Stage:
    """One machine in a round without alignments, in which its own step has been taken."""

    def __init__(self, probabilities=WILLING, *, min_senders=2, settled=True, introduced=PEERS):
        gossip = dataclasses.replace(SETTINGS.gossip, min_senders=min_senders)
        self.machine = ParticipantMachine(
            "ann", PEERS, dataclasses.replace(SETTINGS, gossip=gossip)
        )
        self.begin(0)
        self.done(PrepareKeysAndFeatures(), Prepared(Keys(0, b"own", b"sums"), None))
        keys = Keys(0, b"theirs", b"sums")
        for peer in introduced:
            self.hear(peer, Hello(PROTOCOL_VERSION, bytes(32)))
            self.hear(peer, keys)
            self.done(ImportPeer(peer, keys, None), Imported())
        self.round = 0
        self.settled = self.machine.handle(Expired(0))
        if settled:
            self.offered = self.done(Adapt(0, (), ()), Adapted(probabilities))

    def begin(self, number):
        self.round = number
        return self.machine.handle(Begin(number, dict.fromkeys(PEERS, 0.5), number))

    def hear(self, sender, message):
        return self.machine.handle(Received(sender, message))

    def done(self, job, result):
        return self.machine.handle(Done(job, result))

    def failed(self, job, error="broken"):
        return self.machine.handle(Failed(job, error, None))

    def expire(self):
        return self.machine.handle(Expired(self.round))

    def linked(self, *senders):
        """Everyone's offers; effects of the last."""
        for name in NEIGHBOURS:
            effects = self.hear(name, Offer(self.round, name in senders))
        return effects

    def asked(self, *senders, attempt=0):
        """Requests are made and sent."""
        requests = {name: f"{name} {attempt}".encode() for name in senders}
        return self.done(AskSum(self.round, attempt, senders), SumAsked(requests))

    def closed(self, *senders, attempt=0):
        for name in senders:
            effects = self.hear(name, Share(self.round, attempt, f"part {name}".encode()))
        return effects

    def keys(self, *senders, attempt=0):
        for name in senders:
            effects = self.hear(name, ShareKey(self.round, attempt, f"key {name}".encode()))
        return effects


def sent(effects, kind):
    return {
        e.peer: e.message for e in effects if isinstance(e, Send) and isinstance(e.message, kind)
    }


def jobs(effects):
    return [effect.job for effect in effects if isinstance(effect, Run)]


def over(effects):
    summaries = [effect.summary for effect in effects if isinstance(effect, RoundOver)]
    return summaries[0] if summaries else None


def blamed(effects):
    (blame,) = effects
    assert isinstance(blame, Blame)
    return blame


# -- receiving -----------------------------------------------------------------------------------


class TestOffers:
    def test_a_step_is_taken_first_and_neighbours_hear_of_the_decision(self):
        stage = Stage({"bea": 0.6, "cem": 0.4, "dan": 0.5}, settled=False)
        assert jobs(stage.settled) == [Adapt(0, (), ())]
        effects = stage.done(Adapt(0, (), ()), Adapted({"bea": 0.6, "cem": 0.4, "dan": 0.5}))
        assert sent(effects, Offer) == {  # the coins are all 0.5
            "bea": Offer(0, True),
            "cem": Offer(0, False),
            "dan": Offer(0, True),
        }

    def test_nobody_is_asked_before_all_neighbours_have_decided(self):
        stage = Stage()
        assert not jobs(stage.hear("bea", Offer(0, True)))
        assert not jobs(stage.hear("cem", Offer(0, True)))
        assert jobs(stage.hear("dan", Offer(0, False))) == [AskSum(0, 0, ("bea", "cem"))]

    def test_after_the_deadline_with_those_that_are_there(self):
        stage = Stage()
        stage.hear("bea", Offer(0, True))
        stage.hear("dan", Offer(0, True))
        assert jobs(stage.expire()) == [AskSum(0, 0, ("bea", "dan"))]

    @pytest.mark.parametrize("senders", [(), ("cem",)])
    def test_fewer_than_two_are_never_asked(self, senders):
        summary = over(Stage().linked(*senders))
        assert summary.combined == ()
        assert summary.offered == senders
        assert summary.step_error is None

    def test_nor_fewer_than_agreed(self):
        assert over(Stage(min_senders=3).linked("bea", "cem")).combined == ()
        assert jobs(Stage(min_senders=3).linked(*NEIGHBOURS))

    @pytest.mark.parametrize(
        ("sender", "number"), [("eve", 0), ("bea", 5)], ids=["no neighbour", "far ahead"]
    )
    def test_offers_nobody_waits_for_are_blamed(self, sender, number):
        assert "nobody waits for" in blamed(Stage().hear(sender, Offer(number, True))).reason

    def test_a_changed_mind_is_blamed(self):
        stage = Stage()
        stage.hear("bea", Offer(0, True))
        assert stage.hear("bea", Offer(0, True)) == []
        assert "two different offers" in blamed(stage.hear("bea", Offer(0, False))).reason

    def test_offers_of_the_next_round_are_kept_for_it(self):
        stage = Stage()
        for name in NEIGHBOURS:
            stage.hear(name, Offer(1, True))
        stage.linked()
        stage.begin(1)
        assert jobs(stage.done(Adapt(1, (), ()), Adapted(WILLING))) == [AskSum(1, 0, NEIGHBOURS)]


class TestSums:
    def stage(self, *senders):
        stage = Stage()
        stage.linked(*senders)
        self.requests = sent(stage.asked(*senders), ShareRequest)
        return stage

    def test_a_sum_is_asked_for_revealed_and_combined(self):
        stage = self.stage(*NEIGHBOURS)
        assert self.requests["cem"] == ShareRequest(0, 0, NEIGHBOURS, b"cem 0")
        assert not sent(stage.closed("bea", "cem"), ShareReveal)
        # No key is asked for before every part has arrived.
        assert set(sent(stage.closed("dan"), ShareReveal)) == set(NEIGHBOURS)
        assert not jobs(stage.keys("bea", "cem"))
        (combine,) = jobs(stage.keys("dan"))
        assert combine == Combine(
            0,
            0,
            NEIGHBOURS,
            {name: f"part {name}".encode() for name in NEIGHBOURS},
            {name: f"key {name}".encode() for name in NEIGHBOURS},
        )
        assert over(stage.done(combine, Combined())).combined == NEIGHBOURS

    def test_a_lost_sender_costs_an_attempt(self):
        stage = self.stage(*NEIGHBOURS)
        stage.closed("bea", "dan")
        assert jobs(stage.expire()) == [AskSum(0, 1, ("bea", "dan"))]
        again = sent(stage.asked("bea", "dan", attempt=1), ShareRequest)
        assert set(again) == {"bea", "dan"}
        # Its late part of the first attempt is no use and no fault.
        assert stage.closed("cem") == []
        stage.closed("bea", "dan", attempt=1)
        (combine,) = jobs(stage.keys("bea", "dan", attempt=1))
        assert combine.attempt == 1
        summary = over(stage.done(combine, Combined()))
        assert summary.combined == ("bea", "dan")
        assert summary.lost == ("cem",)

    def test_nothing_goes_on_before_the_next_attempt_is_asked(self):
        """Neither a deadline of the first attempt nor a sender that knows what comes next."""
        stage = self.stage(*NEIGHBOURS)
        stage.closed("bea", "dan")
        stage.hear("cem", Refusal(0, 0, DeclineReason.FAILED))
        assert stage.expire() == []
        early = stage.hear("bea", Share(0, 1, b"early"))
        assert "not asked for" in blamed(early).reason
        assert set(sent(stage.asked("bea", "dan", attempt=1), ShareRequest)) == {"bea", "dan"}
        assert set(sent(stage.closed("bea", "dan", attempt=1), ShareReveal)) == {"bea", "dan"}

    def test_a_sender_that_withholds_need_not_be_waited_for(self):
        stage = self.stage(*NEIGHBOURS)
        stage.closed("bea", "dan")
        effects = stage.hear("cem", Refusal(0, 0, DeclineReason.FAILED))
        assert jobs(effects) == [AskSum(0, 1, ("bea", "dan"))]

    def test_one_sender_left_is_too_few(self):
        stage = self.stage("bea", "cem")
        stage.closed("bea")
        summary = over(stage.expire())
        assert summary.combined == ()
        assert summary.lost == ("cem",)

    def test_after_keys_were_asked_for_there_is_no_other_attempt(self):
        """Whoever may have given its key away must be in no other sum of the round."""
        stage = self.stage(*NEIGHBOURS)
        stage.closed(*NEIGHBOURS)
        stage.keys("bea", "cem")
        effects = stage.expire()
        assert not jobs(effects)  # though bea and cem would be enough
        assert over(effects).combined == ()
        assert over(effects).lost == ("dan",)

    def test_a_sum_that_cannot_be_opened_leaves_the_own_model(self):
        stage = self.stage("bea", "cem")
        stage.closed("bea", "cem")
        (combine,) = jobs(stage.keys("bea", "cem"))
        summary = over(stage.failed(combine))
        assert (summary.combined, summary.step_error) == ((), None)

    def test_without_any_weight_nobody_is_asked(self):
        stage = Stage()
        stage.linked("bea", "cem")
        effects = stage.done(AskSum(0, 0, ("bea", "cem")), SumAsked({}))
        assert not sent(effects, ShareRequest)
        assert over(effects).combined == ()

    def test_a_failure_to_ask_is_an_own_one(self):
        stage = Stage()
        stage.linked("bea", "cem")
        assert over(stage.failed(AskSum(0, 0, ("bea", "cem")))).step_error == "broken"

    @pytest.mark.parametrize(
        "message",
        [Share(0, 0, b"x"), ShareKey(0, 0, b"k"), Refusal(0, 0, DeclineReason.FAILED)],
        ids=lambda message: type(message).__name__,
    )
    def test_what_was_not_asked_for_is_blamed(self, message):
        stage = self.stage("bea", "cem")
        assert "not asked for" in blamed(stage.hear("dan", message)).reason

    def test_two_shares_or_keys_of_one_sender_are_blamed(self):
        stage = self.stage("bea", "cem")
        stage.closed("bea")
        assert stage.closed("bea") == []  # the network repeats
        other = stage.hear("bea", Share(0, 0, b"another"))
        assert "two different shares" in blamed(other).reason
        early = stage.hear("cem", ShareKey(0, 0, b"k"))
        assert "key that it was not asked for" in blamed(early).reason
        stage.closed("cem")
        stage.keys("bea")
        assert stage.keys("bea") == []
        assert "not asked for" in blamed(stage.hear("bea", ShareKey(0, 0, b"another"))).reason


# -- sending -------------------------------------------------------------------------------------


def gather(*senders, attempt=0, number=0, request=b"w"):
    return ShareRequest(number, attempt, senders, request)


class TestParts:
    def made_share(self, stage, *senders, attempt=0, payload=b"closed"):
        (job,) = jobs(stage.hear("bea", gather(*senders, attempt=attempt)))
        assert job == MakeShare("bea", 0, attempt, senders, b"w")
        return sent(stage.done(job, ShareMade(payload)), Share)["bea"]

    def test_a_part_and_its_key_leave_once_and_are_repeated_as_they_are(self):
        stage = Stage()
        part = self.made_share(stage, "ann", "cem")
        assert part == Share(0, 0, b"closed")
        repeated = stage.hear("bea", gather("ann", "cem"))
        assert not jobs(repeated)
        assert sent(repeated, Share) == {"bea": part}
        (job,) = jobs(stage.hear("bea", ShareReveal(0, 0)))
        assert job == ReleaseKey("bea", 0, 0, ("ann", "cem"))
        assert stage.hear("bea", ShareReveal(0, 0)) == []  # while the key is being fetched
        effects = stage.done(job, KeyReleased(b"key"))
        assert sent(effects, ShareKey) == {"bea": ShareKey(0, 0, b"key")}
        again = stage.hear("bea", ShareReveal(0, 0))
        assert not jobs(again)
        assert sent(again, ShareKey) == {"bea": ShareKey(0, 0, b"key")}

    def test_the_ledger_counts_a_sum_once(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem", "dan")
        stage.hear("bea", gather("ann", "cem", "dan"))
        self.made_share(stage, "ann", "cem", attempt=1)
        assert stage.machine.ledger.accounts["bea"].sums == 1

    @pytest.mark.parametrize(
        ("senders", "attempt", "reason"),
        [
            (("ann", "cem"), 0, "two sums in one attempt"),
            (("ann", "cem", "dan"), 1, "without losing a sender"),
            (("ann", "cem", "dan", "eve"), 1, "without losing a sender"),
            (("ann", "eve"), 1, "without losing a sender"),
        ],
        ids=["same attempt", "same senders", "more senders", "other senders"],
    )
    def test_a_second_sum_of_a_round_is_refused(self, senders, attempt, reason):
        stage = Stage()
        self.made_share(stage, "ann", "cem", "dan")
        before = stage.machine.memory
        blame = blamed(stage.hear("bea", gather(*senders, attempt=attempt)))
        assert reason in blame.reason
        assert stage.machine.memory is before

    def test_other_weights_in_the_same_attempt_are_refused(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem")
        again = stage.hear("bea", gather("ann", "cem", request=b"other"))
        assert "two sums in one attempt" in blamed(again).reason

    def test_after_a_key_was_given_away_there_is_no_other_sum(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem", "dan")
        stage.hear("bea", ShareReveal(0, 0))
        again = stage.hear("bea", gather("ann", "cem", attempt=1))
        assert "after a key was given away" in blamed(again).reason

    def test_the_key_of_an_earlier_attempt_stays(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem", "dan")
        self.made_share(stage, "ann", "cem", attempt=1)
        assert "does not exist" in blamed(stage.hear("bea", ShareReveal(0, 0))).reason
        assert jobs(stage.hear("bea", ShareReveal(0, 1)))

    def test_no_key_before_the_part(self):
        stage = Stage()
        assert "does not exist" in blamed(stage.hear("bea", ShareReveal(0, 0))).reason
        stage.hear("bea", gather("ann", "cem"))  # not yet closed
        assert "does not exist" in blamed(stage.hear("bea", ShareReveal(0, 0))).reason

    @pytest.mark.parametrize(
        "senders",
        [("ann",), ("cem", "dan"), ("ann", "bea"), ("cem", "ann"), ("ann", "ann"), ("ann", "zoe")],
        ids=["alone", "without us", "with itself", "unordered", "twice", "a stranger"],
    )
    def test_impossible_senders_are_refused(self, senders):
        assert "impossible senders" in blamed(Stage().hear("bea", gather(*senders))).reason

    def test_so_are_fewer_than_agreed(self):
        stage = Stage(min_senders=3)
        assert "impossible senders" in blamed(stage.hear("bea", gather("ann", "cem"))).reason
        assert jobs(stage.hear("bea", gather("ann", "cem", "dan")))

    def test_who_was_not_offered_the_model_gets_no_part(self):
        stage = Stage({"bea": 0.4, "cem": 1.0, "dan": 1.0})
        assert "was not offered" in blamed(stage.hear("bea", gather("ann", "cem"))).reason
        assert "was not offered" in blamed(stage.hear("eve", gather("ann", "cem"))).reason
        early = Stage(settled=False)
        assert "was not offered" in blamed(early.hear("bea", gather("ann", "cem"))).reason

    def test_a_failure_is_said_and_repeated(self):
        stage = Stage()
        (job,) = jobs(stage.hear("bea", gather("ann", "cem")))
        withheld = {"bea": Refusal(0, 0, DeclineReason.FAILED)}
        assert sent(stage.failed(job), Refusal) == withheld
        assert sent(stage.hear("bea", gather("ann", "cem")), Refusal) == withheld

    def test_a_part_of_an_attempt_that_was_given_up_is_not_sent(self):
        stage = Stage()
        (first,) = jobs(stage.hear("bea", gather("ann", "cem", "dan")))
        (second,) = jobs(stage.hear("bea", gather("ann", "cem", attempt=1)))
        assert not sent(stage.done(first, ShareMade(b"late")), Share)
        assert sent(stage.done(second, ShareMade(b"closed")), Share)

    def test_the_last_round_is_still_served_and_older_ones_are_stale(self):
        stage = Stage()
        stage.linked()
        for number in (1, 2):
            stage.begin(number)
            if number == 1:
                assert jobs(stage.hear("bea", gather("ann", "cem")))
            stage.done(Adapt(number, (), ()), Adapted(WILLING))
            stage.linked()
        stale = sent(stage.hear("cem", gather("ann", "dan")), Refusal)
        assert stale == {"cem": Refusal(0, 0, DeclineReason.STALE)}
        assert stage.hear("bea", ShareReveal(0, 0)) == []


class TestHosts:
    def test_every_neighbour_needs_a_probability(self):
        stage = Stage(settled=False)
        with pytest.raises(LocalProtocolError, match="needs a probability"):
            stage.done(Adapt(0, (), ()), Adapted({"bea": 1.0}))

    def test_a_failed_step_ends_the_round(self):
        stage = Stage(settled=False)
        assert over(stage.failed(Adapt(0, (), ()))).step_error == "broken"

    def test_settings_refuse_what_cannot_be(self):
        with pytest.raises(ConfigError, match="different peers"):
            GossipSettings(name="ann", neighbours=("ann", "bea"))
        with pytest.raises(ConfigError, match="min_senders"):
            GossipSettings(name="ann", neighbours=NEIGHBOURS, min_senders=0)

    def test_where_nobody_averages_messages_of_gossip_are_blamed(self):
        settings = dataclasses.replace(SETTINGS, gossip=None)
        machine = ParticipantMachine("ann", PEERS, settings)
        machine.handle(Begin(0, dict.fromkeys(PEERS, 0.5), 0))
        machine.handle(Received("bea", Hello(PROTOCOL_VERSION, bytes(32))))
        effects = machine.handle(Received("bea", Offer(0, True)))
        assert "models are not averaged" in blamed(effects).reason


class TestIntroductions:
    def test_who_gets_the_keys_later_hears_of_the_decision_then(self):
        """A process that goes on introduces itself in a round that may not align."""
        stage = Stage(introduced=("cem", "dan", "eve"))
        assert set(sent(stage.offered, Offer)) == {"cem", "dan"}
        effects = stage.hear("bea", Hello(PROTOCOL_VERSION, bytes(32)))
        kinds = [type(e.message) for e in effects if isinstance(e, Send) and e.peer == "bea"]
        assert kinds == [Keys, Offer]
        assert sent(effects, Offer) == {"bea": Offer(0, True)}
        assert not sent(stage.hear("bea", Hello(PROTOCOL_VERSION, bytes(32))), Offer)

    def test_offers_of_earlier_rounds_are_not_made_up_for(self):
        stage = Stage(introduced=("cem", "dan", "eve"))
        assert over(stage.expire())  # nobody else offers anything
        stage.begin(1)
        assert not sent(stage.hear("bea", Hello(PROTOCOL_VERSION, bytes(32))), Offer)
