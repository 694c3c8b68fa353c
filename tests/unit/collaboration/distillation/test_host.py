"""What a host of distillation does while it waits."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from securefair.collaboration.distillation.host import PREPARED_AT_ONCE, DistillingHost
from securefair.collaboration.host import Stored
from securefair.protocol.jobs import ImportPeer, PrepareKeysAndFeatures
from securefair.protocol.turn import Peer
from support.agreements import agree


@pytest.fixture
def hosts(hospitals):
    own = hospitals[:3]
    samples = max(len(one.train) for one in own)
    agreed = agree("cycle", own, samples=samples, kind="linear", q=6, local_epochs=1, backend="rns")
    return [DistillingHost(one, agreed, seed=1) for one in own]


def test_a_host_that_waits_makes_what_hides_its_next_answers(hosts):
    teacher, *students = hosts
    assert not teacher.idle()
    for student in students:
        prepared = student.run(PrepareKeysAndFeatures())
        teacher.run(ImportPeer(student.name, prepared.keys, prepared.features))
    pieces = 0
    while teacher.idle():
        pieces += 1
    uploads = list(teacher._uploads.values())
    needed = [upload.plan.zeros for upload in uploads]
    ready = [u.evaluator._zeros.ready(u.plan.schedule.flooding_limbs) for u in uploads]
    assert ready == needed
    assert all(needed)
    assert pieces == sum(-(-each // PREPARED_AT_ONCE) for each in needed)
    assert not students[0].idle()


def test_alignments_of_an_earlier_process_still_count(hospitals):
    """Noise protects patients by how many there were, whichever process formed them."""
    own = hospitals[:3]
    agreed = agree(
        "cycle",
        own,
        samples=max(len(one.train) for one in own),
        kind="linear",
        q=6,
        local_epochs=1,
        backend="clear",
    )

    def host(stored, alignments=None):
        return DistillingHost(own[0], agreed, seed=1, alignments=alignments, stored=stored)

    first, counted = host(Stored()), []
    first.train_alone()
    memory = first.machine.memory
    peers = {**memory.peers, own[1].name: Peer(reputation=0.5)}  # of two, one was opened
    left = Stored(pieces=first.changed(), memory=replace(memory, peers=peers))
    assert host(left, SimpleNamespace(formed_earlier=counted.append)).restored
    assert counted == [1]
