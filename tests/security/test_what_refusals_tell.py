"""Whether an answer was refused is a bit of what it opened to: nothing that leaves may show it.

Adversary: a malicious teacher, or a relay. A teacher can aim an answer at one patient so that it is
out of range, or implausible, for one value of a feature and ordinary for the other. No key is
needed, and one round is enough, if it then sees which it was. Protected: the verdict, wherever no
reputation depends on it. Former steps showed it twice: a site's envelopes counted the rows of its
audit log, one of which said "blame"; and a student sent its keys and features again to whoever
answered what could not be opened, once they had been renewed.
"""

import dataclasses
import json

import pytest

from securefair.errors import RemoteProtocolError
from securefair.protocol.flows import QUERY_BITS, REPLY_BITS
from securefair.protocol.jobs import OpenAnswer, OpenedAnswer, Prepared, PrepareKeysAndFeatures
from securefair.protocol.messages import Answer, Ask, Features, Keys
from securefair.sites.post.envelope import HEADER_BYTES, read_header
from securefair.sites.post.port import nonce_of
from securefair.sites.site import notes as notes_module
from securefair.storage import audit
from support.stage import Stage, sends
from support.town import towns

ROUNDS, AIMED = 5, (1, 3)
"""So many, and those in which the attacker aims an answer."""

VICTIM, ATTACKER = "north", "south"


def refuses(host, rounds):
    """The victim's answers of the attacker are refused in these rounds, as an aimed one may be."""
    run = host.run

    def refusing(job):
        if isinstance(job, OpenAnswer) and job.peer == ATTACKER and job.round in rounds:
            raise RemoteProtocolError("answered what is no smooth function", culprit=ATTACKER)
        return run(job)

    host.run = refusing


def seen(folder, refused):
    """All that a relay, or a recipient without its keys, sees of what leaves the victim."""
    with towns(folder) as make:
        town = make(3, algorithm="vpdl", rounds=ROUNDS)
        refuses(town.hosts[VICTIM], refused)
        told, heads = {}, []

        def hand_over(peer, parcel):
            _, envelope = nonce_of(parcel)
            header = read_header(envelope[:HEADER_BYTES], limit=len(envelope))
            if header.sender == town.identities[VICTIM].card.fingerprint:
                at = peer, header.epoch, header.sequence
                told[at] = header.round, header.length, header.audit_count
                heads.append(header.audit_head)
            return town.deliver(peer, parcel)

        town.live(hand_over)
        blamed = [facts for kind, facts in town.audited(VICTIM) if kind == "blame"]
        assert len(blamed) >= len(refused)
        with town.stores[VICTIM].view() as tx:
            return told, heads, list(tx.audit.rows())


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    """What is seen where aimed answers are refused, by the step of now."""
    return seen(tmp_path_factory.mktemp("some"), AIMED)


def at_once(tx, event, **facts):
    """The former step: a row of its own for everything."""
    tx.audit.append(event, facts, at="2027-01-15T08:00:00Z")


@pytest.mark.slow  # whole runs of sites, as of the two tests below
def test_rows_of_blame_tell_which_answers_were_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(notes_module, "note", at_once)
    for folder in ("some", "none"):
        (tmp_path / folder).mkdir()
    some, _, _ = seen(tmp_path / "some", AIMED)
    none, _, _ = seen(tmp_path / "none", ())
    assert {at: one[:2] for at, one in some.items()} == {at: one[:2] for at, one in none.items()}
    grown = [some[at][2] - none[at][2] for at in sorted(some) if at[0] == ATTACKER]
    steps = sorted(set(grown))  # what the attacker sees grow, once for every answer it aimed
    assert len(steps) == 1 + len(AIMED)
    assert grown == sorted(grown)


@pytest.mark.slow
def test_what_leaves_a_site_is_the_same_whether_or_not_answers_are_refused(some, tmp_path):
    told, heads, rows = some
    none, _, others = seen(tmp_path, ())
    assert told == none
    assert [row.kind for row in rows] == [row.kind for row in others]
    assert rows[-1].kind == others[-1].kind == "closed"
    assert rows[-1].digest not in heads
    over = [row for row in rows if row.kind == "round over"]
    assert [row.facts["opened"] for row in over] == [1 if n in AIMED else 2 for n in range(ROUNDS)]


def guessed(head, before, row, facts):
    """Whether somebody who knows the time and the shape of a row finds its facts by its hash."""
    for opened in range(3):
        tried = json.dumps({**facts, "opened": opened}, sort_keys=True, separators=(",", ":"))
        if audit._link(before, row.at, row.kind, tried.encode()) == head:
            return opened
    return None


@pytest.mark.slow
def test_the_hash_of_a_row_tells_no_facts_that_can_be_guessed(some):
    """Vulnerable is a row of few facts: its hash, which leaves, is that of one of a few texts."""
    _, heads, rows = some
    found = [at for at, row in enumerate(rows) if row.kind in ("round over", "closed")]
    row, before = rows[found[1]], rows[found[1] - 1].digest
    assert row.digest in heads
    known = {"round": row.facts["round"]}
    former = json.dumps({**known, "opened": 1}, sort_keys=True, separators=(",", ":"))
    digest = audit._link(before, row.at, row.kind, former.encode())
    assert guessed(digest, before, row, known) == 1
    without = {name: value for name, value in row.facts.items() if name not in ("opened", "salt")}
    assert guessed(row.digest, before, row, without) is None
    salts = {rows[at].facts["salt"] for at in found}
    assert len(salts) == len(found)
    assert all(len(bytes.fromhex(salt)) == 16 for salt in salts)


ROUND_BITS = QUERY_BITS + REPLY_BITS
RENEWED = Prepared(Keys(1, b"new key", b"new evk"), Features(1, 40, b"new x", b""))


def after_an_aimed_answer(opens, *, former=False):
    """What the attacker gets in the round after: types of messages, in order."""
    stage = Stage(key_bits=2 * ROUND_BITS, forced_every=100).after_round_0(bea=1.0, cem=1.0)
    number = 1
    while PrepareKeysAndFeatures(1) not in [
        getattr(effect, "job", None) for effect in stage.begin(number)
    ]:
        stage.hear("bea", Ask(number, 0, b""))
        for job in list(stage.machine.memory.running.values()):
            stage.fail(job)
        stage.replied(number, bea=0.5, cem=0.5)
        stage.stepped(number)
        number += 1
    stage.done(PrepareKeysAndFeatures(1), RENEWED)
    [run] = stage.hear("bea", Answer(number, 0, b"aimed"))
    if opens:
        stage.done(run.job, OpenedAnswer(None))
    else:
        stage.fail(run.job, "an opened value is out of range")
    stage.replied(number, cem=0.5)
    stage.stepped(number)
    if former and not opens:
        memory = stage.machine.memory
        peer = memory.peers["bea"]
        unsent = dataclasses.replace(peer.introduction, upload_sent=False)
        peers = {**memory.peers, "bea": dataclasses.replace(peer, introduction=unsent)}
        stage.machine._memory = dataclasses.replace(memory, peers=peers)
    return [type(message) for message in sends(stage.begin(number + 1), "bea")]


def test_sending_keys_again_after_a_refusal_tells_it():
    assert after_an_aimed_answer(True, former=True) == [Ask]
    assert after_an_aimed_answer(False, former=True) == [Keys, Features, Ask]


def test_what_a_student_sends_is_the_same_whether_or_not_it_could_open_an_answer():
    assert after_an_aimed_answer(True) == after_an_aimed_answer(False) == [Ask]
