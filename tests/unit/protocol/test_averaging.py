"""Receiving on one machine, with its peers played by hand."""

import dataclasses

import pytest

from securefair.errors import ConfigError, LocalProtocolError
from securefair.protocol.effects import (
    Begin,
    Done,
    Expired,
    Received,
    Send,
)
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    Combine,
    Combined,
    PrepareAsk,
    Questions,
)
from securefair.protocol.ledger import EVERY_OFFER, Account
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
    Offer,
    Reveal,
)
from securefair.protocol.saved_state import SavedState
from securefair.protocol.settings import SumSettings
from unit.protocol.averager import (
    NEIGHBOURS,
    PEERS,
    SETTINGS,
    WILLING,
    Stage,
    blamed,
    jobs,
    over,
    sent,
)


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
        asked = PrepareAsk(0, 0, ("bea", "cem"), summed=True)
        assert jobs(stage.hear("dan", Offer(0, False))) == [asked]

    def test_after_the_deadline_with_those_that_are_there(self):
        stage = Stage()
        stage.hear("bea", Offer(0, True))
        stage.hear("dan", Offer(0, True))
        asked = PrepareAsk(0, 0, ("bea", "dan"), summed=True)
        assert jobs(stage.expire()) == [asked]

    def test_nobody_waits_for_neighbours_that_went_on(self):
        # They offer in a later round: what they offered in this one is lost with an older store.
        stage = Stage()
        stage.hear("bea", Offer(1, True))
        assert stage.machine.awaited == ("cem", "dan")
        stage.hear("cem", Offer(2, False))
        summary = over(stage.hear("dan", Offer(1, True)))
        assert summary.combined == ()

    def test_an_offer_of_this_round_counts_whatever_was_offered_later(self):
        stage = Stage()
        stage.hear("bea", Offer(0, True))
        stage.hear("bea", Offer(1, False))
        stage.hear("cem", Offer(0, True))
        asked = PrepareAsk(0, 0, ("bea", "cem"), summed=True)
        assert jobs(stage.hear("dan", Offer(1, True))) == [asked]

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
        asked = PrepareAsk(1, 0, NEIGHBOURS, summed=True)
        assert jobs(stage.done(Adapt(1, (), ()), Adapted(WILLING))) == [asked]


class TestSums:
    def stage(self, *senders):
        stage = Stage()
        stage.linked(*senders)
        self.requests = sent(stage.asked(*senders), Ask)
        return stage

    def test_a_sum_is_asked_for_revealed_and_combined(self):
        stage = self.stage(*NEIGHBOURS)
        assert self.requests["cem"] == Ask(0, 0, b"cem 0", 0, NEIGHBOURS)
        assert not sent(stage.closed("bea", "cem"), Reveal)
        # No key is asked for before every part has arrived.
        assert set(sent(stage.closed("dan"), Reveal)) == set(NEIGHBOURS)
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
        asked = PrepareAsk(0, 1, ("bea", "dan"), summed=True)
        assert jobs(stage.expire()) == [asked]
        again = sent(stage.asked("bea", "dan", attempt=1), Ask)
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
        stage.hear("cem", Decline(0, 0, DeclineReason.FAILED, True))
        assert stage.expire() == []
        early = stage.hear("bea", Answer(0, 1, b"early", True))
        assert "not asked for" in blamed(early).reason
        assert set(sent(stage.asked("bea", "dan", attempt=1), Ask)) == {"bea", "dan"}
        assert set(sent(stage.closed("bea", "dan", attempt=1), Reveal)) == {"bea", "dan"}

    def test_a_sender_that_withholds_need_not_be_waited_for(self):
        stage = self.stage(*NEIGHBOURS)
        stage.closed("bea", "dan")
        effects = stage.hear("cem", Decline(0, 0, DeclineReason.FAILED, True))
        asked = PrepareAsk(0, 1, ("bea", "dan"), summed=True)
        assert jobs(effects) == [asked]

    @pytest.mark.parametrize(
        ("named", "next_asked"),
        [(("cem", "dan"), ("cem", "dan")), (("cem",), ("bea", "dan")), ((), ("bea", "dan"))],
        ids=["enough", "too few", "none"],
    )
    def test_whoever_declines_may_name_senders_that_it_would_answer_for(self, named, next_asked):
        stage = self.stage(*NEIGHBOURS)
        stage.hear("cem", Decline(0, 0, DeclineReason.FAILED, True, named))
        effects = stage.closed("bea", "dan")
        assert jobs(effects) == [PrepareAsk(0, 1, next_asked, summed=True)]

    def test_two_whose_names_leave_too_few_are_lost(self):
        stage = self.stage(*NEIGHBOURS)
        stage.hear("cem", Decline(0, 0, DeclineReason.FAILED, True, ("bea", "cem")))
        stage.hear("dan", Decline(0, 0, DeclineReason.STALE, True, ("cem", "dan")))
        summary = over(stage.closed("bea"))
        assert summary.lost == ("cem", "dan")
        assert summary.sum_declined == {"cem": DeclineReason.FAILED, "dan": DeclineReason.STALE}

    @pytest.mark.parametrize(
        "named", [("bea", "dan"), NEIGHBOURS, ("cem", "zoe"), ("dan", "cem"), ("cem", "cem")]
    )
    def test_others_than_were_asked_are_no_senders_to_name(self, named):
        stage = self.stage(*NEIGHBOURS)
        declined = stage.hear("cem", Decline(0, 0, DeclineReason.FAILED, True, named))
        assert "names one that was not asked for" in blamed(declined).reason

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
        assert (summary.combined, summary.step_error, summary.sum_error) == ((), None, "broken")

    def test_without_any_weight_nobody_is_asked(self):
        stage = Stage()
        stage.linked("bea", "cem")
        effects = stage.done(PrepareAsk(0, 0, ("bea", "cem"), summed=True), Questions({}))
        assert not sent(effects, Ask)
        assert over(effects).combined == ()

    def test_a_failure_to_ask_is_an_own_one(self):
        stage = Stage()
        stage.linked("bea", "cem")
        assert (
            over(stage.failed(PrepareAsk(0, 0, ("bea", "cem"), summed=True))).step_error == "broken"
        )

    @pytest.mark.parametrize(
        "message",
        [Answer(0, 0, b"x", True), Key(0, 0, b"k"), Decline(0, 0, DeclineReason.FAILED, True)],
        ids=lambda message: type(message).__name__,
    )
    def test_what_was_not_asked_for_is_blamed(self, message):
        stage = self.stage("bea", "cem")
        assert "not asked for" in blamed(stage.hear("dan", message)).reason

    def test_two_shares_or_keys_of_one_sender_are_blamed(self):
        stage = self.stage("bea", "cem")
        stage.closed("bea")
        assert stage.closed("bea") == []  # the network repeats
        other = stage.hear("bea", Answer(0, 0, b"another", True))
        assert "two different answers" in blamed(other).reason
        early = stage.hear("cem", Key(0, 0, b"k"))
        assert "key that it was not asked for" in blamed(early).reason
        stage.closed("cem")
        stage.keys("bea")
        assert stage.keys("bea") == []
        assert "not asked for" in blamed(stage.hear("bea", Key(0, 0, b"another"))).reason


class TestHosts:
    def test_every_neighbour_needs_a_probability(self):
        stage = Stage(settled=False)
        with pytest.raises(LocalProtocolError, match="needs a probability"):
            stage.done(Adapt(0, (), ()), Adapted({"bea": 1.0}))

    def test_a_failed_step_ends_the_round(self):
        stage = Stage(settled=False)
        assert over(stage.failed(Adapt(0, (), ()))).step_error == "broken"

    def test_a_step_that_was_not_taken_goes_on_with_offers_and_is_told_to_the_owner(self):
        stage = Stage(settled=False)
        effects = stage.done(Adapt(0, (), ()), Adapted(WILLING, "beyond the range"))
        assert sent(effects, Offer) == {name: Offer(0, True) for name in NEIGHBOURS}
        assert over(stage.linked()).step_error == "beyond the range"
        stage.begin(1)
        stage.done(Adapt(1, (), ()), Adapted(WILLING))
        assert over(stage.linked()).step_error is None

    def test_whoever_was_recovered_offers_nothing_even_without_a_budget(self):
        accounts = {name: Account(samples=1, offers=EVERY_OFFER) for name in NEIGHBOURS[:2]}
        left = SavedState(
            round=-1,
            teacher_version=0,
            accounts=accounts,
        )
        assert SETTINGS.sums.max_sums is None
        machine = ParticipantMachine("ann", PEERS, SETTINGS, saved_state=left)
        machine.handle(Begin(0, dict.fromkeys(PEERS, 0.5), 0))
        machine.handle(Expired(0))
        machine.handle(Done(Adapt(0, (), ()), Adapted(WILLING)))
        offered = machine.memory.averaging.offered[0]
        assert offered == {"bea": False, "cem": False, "dan": True}

    def test_settings_refuse_what_cannot_be(self):
        with pytest.raises(ConfigError, match="different peers"):
            SumSettings(name="ann", senders={"ann": ("ann", "bea"), "bea": ("ann",)})
        with pytest.raises(ConfigError, match="must be a receiver"):
            SumSettings(name="ann", senders={"ann": ("bea", "cem"), "bea": ("ann",)})
        for wrong in ({"min_senders": 0}, {"missing": -1}, {"max_sums": 0}):
            with pytest.raises(ConfigError, match=next(iter(wrong))):
                dataclasses.replace(SETTINGS.sums, **wrong)

    def test_a_peer_may_be_owed_what_it_may_ask_in_two_rounds(self):
        """An alignment, attempts at a sum that lose a sender each, the key, parts of keys."""
        owed = {peer: SETTINGS.most_replies(peer) for peer in PEERS}
        assert owed == {"bea": 2 * (1 + 3 + 2), "cem": 10, "dan": 10, "eve": 2}
        assert SETTINGS.most_questions("bea") == 2 * (1 + 2 + 2)
        assert SETTINGS.most_questions("eve") == 2  # no neighbour: it is asked for nothing
        exact = dataclasses.replace(SETTINGS.sums, missing=0)
        assert dataclasses.replace(SETTINGS, sums=exact).most_replies("bea") == 2 * (1 + 1 + 2)
        assert dataclasses.replace(SETTINGS, sums=None, keep_rounds=0).most_replies("bea") == 1

    def test_all_agreed_senders_but_so_many_make_a_sum(self):
        senders = {
            "ann": ("bea", "cem", "dan"),
            "bea": ("ann", "cem", "dan"),
            "cem": ("ann", "bea"),
            "dan": ("ann",),
        }
        gossip = SumSettings(name="ann", senders=senders)
        assert gossip.neighbours == ("bea", "cem", "dan")
        assert gossip.fewest("bea") == 2
        for missing, fewest in ((0, 3), (1, 2), (2, 2)):
            gossip = dataclasses.replace(gossip, missing=missing)
            assert [gossip.fewest(name) for name in ("bea", "cem")] == [fewest, 2]

    def test_where_nobody_averages_messages_of_gossip_are_blamed(self):
        settings = dataclasses.replace(SETTINGS, sums=None)
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
