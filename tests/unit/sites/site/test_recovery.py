"""What a site does that was recovered."""

import dataclasses

import pytest

from securefair.protocol.effects import Run, Send
from securefair.protocol.jobs import AnswerAsk, PrepareKeysAndFeatures
from securefair.protocol.ledger import EVERY_NUMBER
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Ask, DeclineReason
from securefair.sites.site.recovery import Recovered
from support.stage import OWN, SETTINGS, Stage

PEERS = ("bea", "cem")


def asked(saved_state, **limits):
    """What a teacher does when it is asked in the forced round after what was left of it."""
    none = dict.fromkeys(("fraction_per_version", "student_total", "teacher_total"))
    policy = dataclasses.replace(SETTINGS.disclosure, **{**none, **limits})
    stage = Stage()
    stage.machine = ParticipantMachine(
        "ann",
        PEERS,
        dataclasses.replace(SETTINGS, disclosure=policy, forced_every=1),
        saved_state=saved_state,
    )
    stage.begin(3)
    stage.done(PrepareKeysAndFeatures(), OWN)
    stage.introduce()
    return [stage.hear(peer, Ask(3, 0, b""))[-1] for peer in PEERS]


@pytest.mark.parametrize("limits", [{}, {"student_total": 10**6, "teacher_total": 2 * 10**6}])
def test_it_answers_nobody_whatever_the_limits(limits):
    left = Recovered(epoch=1_800_000_000, round=2).saved_state(PEERS)
    assert {account.total for account in left.accounts.values()} == {EVERY_NUMBER}
    for effect in asked(left, **limits):
        assert isinstance(effect, Send)
        assert effect.message.reason is DeclineReason.DISCLOSURE_LIMIT
    fresh = dataclasses.replace(left, accounts={})
    for peer, effect in zip(PEERS, asked(fresh, **limits), strict=True):
        assert effect == Run(AnswerAsk(peer, 3, 0, b""))
