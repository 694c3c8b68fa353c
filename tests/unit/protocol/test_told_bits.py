"""Bits of opened values that control messages tell a peer: charged, and then there are new keys."""

import dataclasses

import pytest

from securefair.errors import ConfigError
from securefair.protocol.effects import Run, SetDeadline
from securefair.protocol.flows import OFFER_BITS, QUERY_BITS, REPLY_BITS, alignment_bits
from securefair.protocol.jobs import (
    AnswerAsk,
    Imported,
    ImportPeer,
    Prepared,
    PrepareKeysAndFeatures,
)
from securefair.protocol.messages import Ask, Decline, DeclineReason, Features, Keys
from securefair.protocol.settings import SumSettings
from support.stage import HELLO, SETTINGS, Stage, sends

RENEWED = Prepared(Keys(1, b"new key", b"new evk"), Features(0, 40, b"new x", b""))
ROUND_BITS = QUERY_BITS + REPLY_BITS
MOST = 2 * QUERY_BITS + 4 * REPLY_BITS  # four rounds, of which one is forced


def told(stage, peer="bea"):
    account = stage.machine.ledger.accounts.get(peer)
    return 0.0 if account is None else account.bits


def played(stage, number, *, bea=0.5, cem=0.5):
    """A whole round after round 0, in which bea asks and everybody answers."""
    effects = stage.begin(number)
    stage.hear("bea", Ask(number, 0, b""))
    if ("AnswerAsk", "bea", number) in stage.machine.memory.running:
        stage.fail(AnswerAsk("bea", number, 0, b""))
    stage.replied(number, bea=bea, cem=cem)
    stage.stepped(number)
    return effects


def test_a_forced_round_asks_and_answers_everybody_and_tells_nothing():
    stage = Stage().started()
    stage.hear("bea", Ask(0, 0, b""))
    assert told(stage) == told(stage, "cem") == 0


def test_an_answer_that_fails_in_a_forced_round_tells_its_reason():
    stage = Stage().started()
    stage.hear("bea", Ask(0, 0, b""))
    stage.fail(AnswerAsk("bea", 0, 0, b""))
    assert told(stage) == REPLY_BITS


def test_elsewhere_both_asking_and_not_asking_tell_and_a_reply_as_much_as_a_decline():
    stage = Stage().after_round_0(bea=1.0, cem=0.0)
    stage.begin(1)
    assert told(stage) == told(stage, "cem") == QUERY_BITS
    stage.hear("bea", Ask(1, 0, b""))  # shared with
    stage.hear("cem", Ask(1, 0, b""))  # declined
    assert told(stage) == told(stage, "cem") == QUERY_BITS + REPLY_BITS
    stage.hear("cem", Ask(1, 0, b""))  # the same reply again
    stage.fail(AnswerAsk("bea", 1, 0, b""))
    assert told(stage) == told(stage, "cem") == QUERY_BITS + REPLY_BITS


def test_whom_it_asks_tells_once_until_a_forced_round_could_change_it():
    stage = Stage(forced_every=3).after_round_0(bea=1.0, cem=0.0)
    for number, told_so_far in ((1, 1), (2, 1), (3, 1), (4, 2)):
        stage.begin(number)
        assert told(stage) == told(stage, "cem") == told_so_far * QUERY_BITS
        replies = {"bea": 1.0, "cem": 0.0} if number == 3 else {"bea": 1.0}
        stage.replied(number, **replies)
        stage.stepped(number)


def test_where_everyone_always_shares_nothing_depends_on_opened_values():
    stage = Stage(always_share=True).started()
    stage.replied(0, bea=1.0, cem=1.0)
    stage.stepped(0)
    stage.begin(1)
    stage.hear("bea", Ask(1, 0, b""))
    assert told(stage) == 0


def due(**changes):
    """A stage whose keys are renewed in its next round, which is the fourth."""
    stage = Stage(key_bits=MOST, forced_every=100, **changes).after_round_0(bea=1.0, cem=1.0)
    assert stage.machine.settings.key_rounds == 4
    for number in (1, 2, 3):
        assert not [e for e in played(stage, number) if isinstance(e, Run)]
    return stage


def test_keys_are_renewed_before_the_round_that_could_exceed_their_bits():
    stage = due()
    told_so_far = QUERY_BITS + 3 * REPLY_BITS
    assert told(stage) == pytest.approx(told_so_far)
    effects = stage.begin(4)
    # Whoever dies in it costs the time of a round: no time for introductions is added.
    assert effects[:2] == [SetDeadline(4, 10.0), Run(PrepareKeysAndFeatures(1))]
    assert not sends(effects, "bea")  # nobody is asked under the old key
    effects = stage.done(PrepareKeysAndFeatures(1), RENEWED)
    assert effects[0] == SetDeadline(4, 10.0)  # from when the own keys are made
    for peer in ("bea", "cem"):
        assert sends(effects, peer) == [RENEWED.keys, RENEWED.features, Ask(4, 0, b"", 1)]
    assert told(stage) == pytest.approx(told_so_far)  # the rest was told before


def test_without_a_limit_one_key_serves_for_ever():
    stage = Stage(forced_every=100).after_round_0(bea=1.0, cem=1.0)
    for number in range(1, 9):
        assert not [e for e in played(stage, number) if isinstance(e, Run)]


def test_keys_that_could_not_be_made_are_tried_again():
    stage = due()
    stage.begin(4)
    stage.fail(PrepareKeysAndFeatures(1))
    stage.stepped(4)
    assert Run(PrepareKeysAndFeatures(1)) in stage.begin(5)


def test_renewed_keys_are_sent_again_to_whoever_says_that_it_lacks_them():
    stage = due()
    stage.begin(4)
    stage.done(PrepareKeysAndFeatures(1), RENEWED)
    again = [HELLO, RENEWED.keys, RENEWED.features, Ask(4, 0, b"", 1)]
    assert sends(stage.hear("bea", HELLO), "bea") == again
    assert sends(stage.hear("bea", HELLO), "bea") == []  # once a round


def test_a_query_under_keys_that_were_lost_is_kept_and_asks_for_them():
    stage = Stage().started()
    effects = stage.hear("bea", Ask(0, 0, b"", 1))
    assert sends(effects, "bea") == [HELLO]
    assert not [e for e in effects if isinstance(e, Run)]
    assert stage.hear("bea", Ask(0, 0, b"", 1)) == []
    keys = Keys(1, b"new key", b"new evk")
    features = Features(1, 30, b"new x", b"")
    assert stage.hear("bea", keys) == []
    [run] = stage.hear("bea", features)
    assert run.job == ImportPeer("bea", keys, features)
    [run] = stage.done(run.job, Imported())
    assert run.job == AnswerAsk("bea", 0, 0, b"")


def test_a_query_under_keys_that_never_come_is_stale_in_the_next_round():
    stage = Stage().started()
    stage.hear("bea", Ask(0, 0, b"", 1))
    stage.replied(0, bea=1.0, cem=1.0)
    stage.stepped(0)
    assert Decline(0, 0, DeclineReason.STALE) in sends(stage.begin(1), "bea")


def test_a_later_process_goes_on_with_what_was_told():
    stage = due()
    settings = dataclasses.replace(SETTINGS, key_bits=MOST)
    again = type(stage.machine)("ann", ("bea", "cem"), settings, memory=stage.machine.memory)
    assert again.ledger.accounts["bea"].bits == told(stage) > 0


def test_a_key_must_outlast_a_round():
    assert alignment_bits(5) == pytest.approx(2.585, abs=1e-3)
    with pytest.raises(ConfigError, match="key_bits"):
        dataclasses.replace(SETTINGS, key_bits=ROUND_BITS - 0.01)
    with pytest.raises(ConfigError, match="key_bits"):
        dataclasses.replace(SETTINGS, key_bits=OFFER_BITS + REPLY_BITS, sums=GOSSIP)
    dataclasses.replace(SETTINGS, key_bits=ROUND_BITS)


def test_the_schedule_of_keys_is_the_same_whatever_was_opened_or_told():
    """Renewed when the fullest account was full, keys told everybody how much somebody was told."""
    rounds = {}
    for name, replies in (("all", {"bea": 1.0, "cem": 1.0}), ("none", {"bea": 0.0, "cem": 0.0})):
        stage = Stage(key_bits=MOST, forced_every=100).after_round_0(**replies)
        for number in range(1, 13):
            effects = stage.begin(number)
            for job in [e.job for e in effects if isinstance(e, Run)]:
                if isinstance(job, PrepareKeysAndFeatures):
                    rounds.setdefault(name, []).append(number)
                    keys = Keys(job.renewal, b"new key", b"new evk")
                    features = Features(job.renewal, 40, b"new x", b"")
                    stage.done(job, Prepared(keys, features))
            if name == "all":
                stage.hear("bea", Ask(number, 0, b""))
            stage.expire(number)
            for job in list(stage.machine.memory.running.values()):
                stage.fail(job)
    assert rounds == {"all": [4, 8, 12], "none": [4, 8, 12]}


def test_who_skips_rounds_renews_in_the_first_of_another_term():
    stage = Stage(key_bits=MOST, forced_every=100).after_round_0(bea=1.0, cem=1.0)
    assert Run(PrepareKeysAndFeatures(1)) in stage.begin(6)
    stage.done(PrepareKeysAndFeatures(1), RENEWED)
    stage.expire(6)
    stage.fail(stage.machine.memory.running["Step", "", 6])
    assert not [e for e in stage.begin(7) if isinstance(e, Run)]


GOSSIP = SumSettings(
    name="ann",
    senders={"ann": ("bea", "cem"), "bea": ("ann", "cem"), "cem": ("ann", "bea")},
    alignment_bits=alignment_bits(5),
)


@pytest.mark.parametrize(
    ("changes", "rounds"),
    [({}, None), ({"key_openings": 7}, 7), ({"always_share": True, "key_bits": 64.0}, 32),
     ({"key_bits": 64.0, "key_openings": 7}, 7), ({"key_bits": 64.0}, 28),
     ({"key_bits": 64.0, "sums": GOSSIP}, 31),
     ({"key_bits": 64.0, "sums": dataclasses.replace(GOSSIP, told_to_all=True)}, 25)],
)  # fmt: skip
def test_the_schedule_follows_from_what_was_agreed(changes, rounds):
    settings = dataclasses.replace(SETTINGS, forced_every=5, **changes)
    assert settings.key_rounds == rounds
    if rounds and "key_openings" not in changes:
        assert settings.most_bits(rounds) <= 64 < settings.most_bits(rounds + 1)


@pytest.mark.parametrize("always_share", [True, False])
def test_keys_are_renewed_before_they_open_more_answers_of_a_peer_than_they_may(always_share):
    """Where everyone always shares no bit is charged, and a model tells of what was opened."""
    stage = Stage(always_share=always_share, forced_every=1, key_openings=2).started()
    for number in (0, 1):
        if number:
            assert not [e for e in stage.begin(number) if isinstance(e, Run)]
        stage.replied(number, bea=1.0, cem=None)
        stage.stepped(number)
    effects = stage.begin(2)
    assert Run(PrepareKeysAndFeatures(1)) in effects
    assert not sends(effects, "bea")
    effects = stage.done(PrepareKeysAndFeatures(1), RENEWED)
    assert sends(effects, "cem")[:2] == [RENEWED.keys, RENEWED.features]


def test_a_limit_of_openings_is_a_count():
    with pytest.raises(ConfigError, match="key_openings"):
        dataclasses.replace(SETTINGS, key_openings=0)
