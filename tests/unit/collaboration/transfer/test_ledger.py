"""A hospital has one ledger, its machine's, whatever an earlier version kept beside it."""

from dataclasses import replace

import msgspec

from securefair.collaboration.host import Stored
from securefair.collaboration.transfer.host import TransferHost
from securefair.protocol.jobs import AnswerAsk, PrepareAsk
from securefair.protocol.ledger import Account
from support.simulated import on_backend


def host(own, agreed, stored=None):
    stored = Stored() if stored is None else stored
    return TransferHost(own, on_backend(agreed, "clear"), seed=0, stored=stored)


def test_an_answer_is_in_what_the_machine_remembers(make_hospitals, agree):
    hospitals = make_hospitals()
    agreed = agree(hospitals)
    a, b = (host(own, agreed) for own in hospitals[:2])
    question = a.run(PrepareAsk(0, 0, ("b",))).payloads["b"]
    assert not b.machine.memory.ledger.accounts
    b.run(AnswerAsk("a", 0, 0, question))
    told = b.machine.memory.ledger.accounts["a"].total
    assert told == agreed.numbers_of(len(hospitals[0].train)) > 0
    assert "ledger" not in b.changed()
    left = Stored(memory=b.machine.memory, keys=b.export_keys())
    assert host(hospitals[1], agreed, left).machine.ledger.accounts["a"].total == told


def test_accounts_of_an_earlier_version_count_on(make_hospitals, agree):
    """Version 0.2 kept them in a piece, and in the machine's memory none."""
    own, agreed = make_hospitals()[1], agree(make_hospitals())
    before = host(own, agreed)
    accounts = {"a": Account(samples=17, answers=1, total=7, released={0: {"x": 7}})}
    left = Stored(
        pieces={"ledger": msgspec.msgpack.encode(accounts)},
        memory=before.machine.memory,
        keys=before.export_keys(),
    )
    after = host(own, agreed, left)
    assert after.machine.ledger.accounts == accounts
    assert after.changed() == {"ledger": None}
    again = replace(left, pieces={}, memory=after.machine.memory)
    assert host(own, agreed, again).machine.ledger.accounts == accounts
