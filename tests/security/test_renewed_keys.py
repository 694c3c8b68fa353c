"""What it costs a participant that its peers, or its own account, call for new keys.

Adversary: a peer that sends well-formed messages as often as it likes. Importing keys and features
takes a hundred times what sending them takes, and so does encrypting one's own features anew.
Protected: time and memory, which a round bounds whatever arrives in it.
"""

import dataclasses

from securefair.protocol import admission
from securefair.protocol.effects import Blame, Run
from securefair.protocol.flows import QUERY_BITS, REPLY_BITS
from securefair.protocol.jobs import Answered, Imported, ImportPeer, PrepareKeysAndFeatures
from securefair.protocol.messages import Ask, Features, Hello, Keys
from support.stage import HELLO, Stage

ROUND_BITS = QUERY_BITS + REPLY_BITS
MESSAGES = 60


def renewed(stage, number):
    """A peer's next keys and features; the imports that it made the victim do."""
    keys = Keys(number, b"key %d" % number, b"evk")
    features = Features(number, 30, b"x %d" % number, b"")
    effects = stage.hear("bea", keys) + stage.hear("bea", features)
    imports = [e for e in effects if isinstance(e, Run) and isinstance(e.job, ImportPeer)]
    for effect in imports:
        stage.done(effect.job, Imported())
    return len(imports), any(isinstance(e, Blame) for e in effects)


def test_without_a_limit_every_new_key_costs_an_import(monkeypatch):
    """The former step: any higher epoch was imported."""
    monkeypatch.setattr(admission, "MAX_RENEWALS", 10**9)
    stage = Stage().started()
    assert sum(renewed(stage, number)[0] for number in range(1, MESSAGES)) == MESSAGES - 1


def test_a_round_bounds_the_imports_that_one_peer_can_call_for():
    stage = Stage().started()
    found = [renewed(stage, number) for number in range(1, MESSAGES)]
    assert sum(imports for imports, _ in found) == admission.MAX_RENEWALS
    assert all(blamed for _, blamed in found[admission.MAX_RENEWALS :])
    # The last keys that were taken serve on, and another round takes newer ones.
    assert stage.hear("bea", Ask(0, 0, b""))
    stage.replied(0, bea=0.5, cem=0.5)
    for job in list(stage.machine.memory.running.values()):
        stage.fail(job)
    stage.begin(1)
    assert renewed(stage, MESSAGES) == (1, False)


def test_newer_keys_do_not_hide_that_an_upload_was_unusable():
    """Else a peer could have junk imported again and again, and never be blamed."""
    stage = Stage().started()
    first = (Keys(1, b"key 1", b"evk"), Features(1, 30, b"junk", b""))
    for message in first:
        stage.hear("bea", message)
    stage.hear("bea", Keys(2, b"key 2", b"evk"))
    effects = stage.fail(ImportPeer("bea", *first), "no residues")
    assert [effect.peer for effect in effects if isinstance(effect, Blame)] == ["bea"]


def asked_often(stage, charge):
    """A peer repeats its query, asks for rounds that are over, and greets, all in one round."""
    for _ in range(MESSAGES):
        for message in (Ask(1, 0, b""), Ask(0, 0, b""), HELLO, Hello(9, bytes(32))):
            charge(stage.hear("bea", message))


def test_no_number_of_messages_makes_a_participant_renew_its_own_keys():
    """Vulnerable is an account that charges whatever leaves: every repetition and reminder."""
    stage = Stage(key_bits=3 * ROUND_BITS, forced_every=100).after_round_0(bea=1.0, cem=1.0)
    stage.begin(1)
    left = []
    asked_often(stage, left.extend)
    former = sum(ROUND_BITS for effect in left if type(effect).__name__ == "Send")
    assert former > 3 * ROUND_BITS
    assert stage.machine.ledger.accounts["bea"].bits <= ROUND_BITS
    stage.replied(1, bea=0.5, cem=0.5)
    for job in list(stage.machine.memory.running.values()):
        stage.fail(job)
    assert Run(PrepareKeysAndFeatures(1)) not in stage.begin(2)


def test_an_older_key_is_no_renewal():
    stage = Stage().started()
    renewed(stage, 5)
    assert renewed(stage, 3) == (0, False)  # repeated by the network, perhaps


def test_new_keys_are_worth_no_second_answer_in_a_round():
    """The former step forgot with the keys what it had answered: a round gave one answer a key."""
    stage = Stage().started()
    answers = 0
    for number in range(1, admission.MAX_RENEWALS + 1):
        effects = stage.hear("bea", Ask(0, 0, b""))
        jobs = [e.job for e in effects if isinstance(e, Run)]
        for job in jobs:
            answers += 1
            stage.done(job, Answered(b"numbers"))
        renewed(stage, number)
    assert answers == 1
    assert stage.machine.ledger.accounts["bea"].answers == 1
    former = Stage().started()
    answers = 0
    for number in range(1, admission.MAX_RENEWALS + 1):
        for effect in former.hear("bea", Ask(0, 0, b"")):
            answers += isinstance(effect, Run)
            former.done(effect.job, Answered(b"numbers"))
        renewed(former, number)
        memory = former.machine.memory
        forgetful = dataclasses.replace(memory.peers["bea"], serving={})
        peers = {**memory.peers, "bea": forgetful}
        former.machine._memory = dataclasses.replace(memory, peers=peers)
    assert answers == admission.MAX_RENEWALS
