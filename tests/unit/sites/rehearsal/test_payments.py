"""The meter of a year: what a teacher pays twice is counted."""

import dataclasses

from securefair.protocol.jobs import AnswerAsk, Answered
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Ask
from securefair.sites.rehearsal.payments import Payments
from support.stage import SETTINGS, Stage


def answered(stage, payments, number):
    """A question of a round is heard and answered; the meter looks at every turn."""

    def turns(act):
        before = stage.machine.memory
        effects = act()
        payments.see("ann", before, stage.machine.memory)
        return effects

    effects = turns(lambda: stage.hear("bea", Ask(number, 0, b"", 0)))
    for job in [one.job for one in effects if isinstance(getattr(one, "job", None), AnswerAsk)]:
        turns(lambda job=job: stage.done(job, Answered(b"numbers")))


def test_a_teacher_that_forgets_what_it_told_is_seen_to_pay_twice():
    stage, payments = Stage().started(), Payments()
    answered(stage, payments, 0)
    answered(stage, payments, 0)  # it repeats its reply
    assert sum(payments.counted.values()) == 1
    assert payments.twice == 0
    memory = stage.machine.memory
    bea = dataclasses.replace(memory.peers["bea"], serving={})
    account = dataclasses.replace(memory.ledger.accounts["bea"], released={})
    ledger = dataclasses.replace(memory.ledger, accounts={"bea": account})
    peers = {**memory.peers, "bea": bea}
    forgetful = dataclasses.replace(memory, peers=peers, ledger=ledger)
    stage.machine = ParticipantMachine("ann", stage.peers, SETTINGS, memory=forgetful)
    answered(stage, payments, 0)
    assert payments.twice == 1
