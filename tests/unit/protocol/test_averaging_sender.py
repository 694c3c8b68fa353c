"""Sending a share and its key, with the receivers played by hand."""

import pytest

from securefair.protocol.effects import Failed
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    AnswerAsk,
    Answered,
    KeyReleased,
    ReleaseKey,
)
from securefair.protocol.messages import (
    Answer,
    Decline,
    DeclineReason,
    Key,
    Reveal,
)
from securefair.protocol.stored import decode_memory, encode_memory
from unit.protocol.averager import (
    WILLING,
    Stage,
    blamed,
    gather,
    jobs,
    sent,
)


def stale(attempt):
    """What a student hears whose store was put back: it need not wait for its second sum."""
    return Decline(0, attempt, DeclineReason.STALE, True)


class TestParts:
    def made_share(self, stage, *senders, attempt=0, payload=b"closed"):
        (job,) = jobs(stage.hear("bea", gather(*senders, attempt=attempt)))
        assert job == AnswerAsk("bea", 0, attempt, b"w", senders)
        return sent(stage.done(job, Answered(payload)), Answer)["bea"]

    def test_a_part_and_its_key_leave_once_and_are_repeated_as_they_are(self):
        stage = Stage()
        part = self.made_share(stage, "ann", "cem")
        assert part == Answer(0, 0, b"closed", True)
        repeated = stage.hear("bea", gather("ann", "cem"))
        assert not jobs(repeated)
        assert sent(repeated, Answer) == {"bea": part}
        (job,) = jobs(stage.hear("bea", Reveal(0, 0)))
        assert job == ReleaseKey("bea", 0, 0, ("ann", "cem"))
        assert stage.hear("bea", Reveal(0, 0)) == []  # while the key is being fetched
        effects = stage.done(job, KeyReleased(b"key"))
        assert sent(effects, Key) == {"bea": Key(0, 0, b"key")}
        again = stage.hear("bea", Reveal(0, 0))
        assert not jobs(again)
        assert sent(again, Key) == {"bea": Key(0, 0, b"key")}

    def test_a_key_that_cannot_be_made_is_declined_to_whoever_asks_again(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem")
        (job,) = jobs(stage.hear("bea", Reveal(0, 0)))
        declined = {"bea": Decline(0, 0, DeclineReason.FAILED, True)}
        assert sent(stage.machine.handle(Failed(job, "no seed", None)), Decline) == declined
        again = stage.hear("bea", Reveal(0, 0))
        assert not jobs(again)
        assert sent(again, Decline) == declined
        written, apart = encode_memory(stage.machine.memory)
        assert decode_memory(written, apart.__getitem__) == stage.machine.memory

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
        blame = blamed(stage.hear("bea", gather(*senders, attempt=attempt)), stale(attempt))
        assert reason in blame.reason
        assert stage.machine.memory is before

    def test_other_weights_in_the_same_attempt_are_refused(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem")
        again = stage.hear("bea", gather("ann", "cem", request=b"other"))
        assert "two sums in one attempt" in blamed(again, stale(0)).reason

    def test_after_a_key_was_given_away_there_is_no_other_sum(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem", "dan")
        stage.hear("bea", Reveal(0, 0))
        again = stage.hear("bea", gather("ann", "cem", attempt=1))
        assert "after a key was given away" in blamed(again, stale(1)).reason

    def test_the_key_of_an_earlier_attempt_stays(self):
        stage = Stage()
        self.made_share(stage, "ann", "cem", "dan")
        self.made_share(stage, "ann", "cem", attempt=1)
        assert "does not exist" in blamed(stage.hear("bea", Reveal(0, 0))).reason
        assert jobs(stage.hear("bea", Reveal(0, 1)))

    def test_no_key_before_the_part(self):
        stage = Stage()
        assert "does not exist" in blamed(stage.hear("bea", Reveal(0, 0))).reason
        stage.hear("bea", gather("ann", "cem"))  # not yet closed
        assert "does not exist" in blamed(stage.hear("bea", Reveal(0, 0))).reason

    @pytest.mark.parametrize(
        "senders",
        [("ann",), ("cem", "dan"), ("ann", "bea"), ("cem", "ann"), ("ann", "ann"), ("ann", "zoe")],
        ids=["alone", "without us", "with itself", "unordered", "twice", "a stranger"],
    )
    def test_impossible_senders_are_refused(self, senders):
        assert "other senders than agreed" in blamed(Stage().hear("bea", gather(*senders))).reason

    def test_so_are_fewer_than_agreed(self):
        stage = Stage(min_senders=3)
        assert "other senders than agreed" in blamed(stage.hear("bea", gather("ann", "cem"))).reason
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
        withheld = {"bea": Decline(0, 0, DeclineReason.FAILED, True)}
        assert sent(stage.failed(job), Decline) == withheld
        assert sent(stage.hear("bea", gather("ann", "cem")), Decline) == withheld

    def test_a_part_of_an_attempt_that_was_given_up_is_not_sent(self):
        stage = Stage()
        (first,) = jobs(stage.hear("bea", gather("ann", "cem", "dan")))
        (second,) = jobs(stage.hear("bea", gather("ann", "cem", attempt=1)))
        assert not sent(stage.done(first, Answered(b"late")), Answer)
        assert sent(stage.done(second, Answered(b"closed")), Answer)

    def test_the_last_round_is_still_served_and_older_ones_are_stale(self):
        stage = Stage()
        stage.linked()
        for number in (1, 2):
            stage.begin(number)
            if number == 1:
                assert jobs(stage.hear("bea", gather("ann", "cem")))
            stage.done(Adapt(number, (), ()), Adapted(WILLING))
            stage.linked()
        stale = sent(stage.hear("cem", gather("ann", "dan")), Decline)
        assert stale == {"cem": Decline(0, 0, DeclineReason.STALE, True)}
        stale = sent(stage.hear("bea", Reveal(0, 0)), Decline)  # it waits for no key in vain
        assert stale == {"bea": Decline(0, 0, DeclineReason.STALE, True)}
