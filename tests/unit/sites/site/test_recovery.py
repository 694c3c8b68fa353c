"""What a site does that was recovered, and what is done with a damaged store."""

import dataclasses
import json
import shutil

import msgspec
import pytest

from securefair.protocol.effects import Run, Send
from securefair.protocol.jobs import AnswerAsk, PrepareKeysAndFeatures
from securefair.protocol.ledger import EVERY_NUMBER
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Ask, DeclineReason
from securefair.sites.post.peers import read_peer
from securefair.sites.site.records import LEFT, state_in
from securefair.sites.site.recovery import Recovered
from securefair.sites.site.renewing import RENEWALS, Taken, taken_in
from securefair.sites.site.starting import open_site
from securefair.storage import Secret, Store
from support.operators import PASSPHRASE, found, securefair
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


def no_header(store):
    file = store / "store.sqlite"
    file.write_bytes(bytes(100) + file.read_bytes()[100:])


def cut_short(store):
    file = store / "store.sqlite"
    file.write_bytes(file.read_bytes()[: 6 * 4096])


def page_that_nobody_reads(store):
    with Store.open(store) as opened, opened.transaction() as tx:
        for number in range(200):
            tx.audit.append("row", {"number": number, "filler": "x" * 200}, at="now")
    file = store / "store.sqlite"
    content = bytearray(file.read_bytes())
    page = content.index(b'"number":100}') // 4096 * 4096
    content[page : page + 4096] = bytes(4096)
    file.write_bytes(content)


def nothing(_store):
    pass


def record(name):
    def garble(store):
        with Store.open(store) as opened, opened.transaction() as tx:
            tx.memory.put(name, b"\xc1garbled")

    return garble


@pytest.mark.parametrize(
    ("damage", "aside"),
    [
        (no_header, True),
        (cut_short, True),
        (page_that_nobody_reads, True),
        (record("site state"), True),
        (record("record 000000"), True),
        (record("site format"), True),
        (record("generation"), False),  # is written anew
        (record("machine"), False),  # goes anyway
        (nothing, False),
    ],
    ids=[
        "header",
        "short",
        "page",
        "state",
        "record",
        "format",
        "generation",
        "machine",
        "nothing",
    ],
)
def test_a_damaged_store_is_put_aside_and_the_site_goes_on(swift_folder, damage, aside):
    """`site start` and `site recover` both asked for a backup, which peers then refused."""
    found(swift_folder, wishes=("--algorithm", "transfer"))
    site, secret = swift_folder / "north", Secret(PASSPHRASE.encode())
    with open_site(site, secret):
        pass
    damage(site / "store")
    broken = (site / "store" / "store.sqlite").read_bytes()
    words = (site, "--passphrase-file", swift_folder / "passphrase")
    said = securefair("site", "check", *words, fails=damage is not nothing)
    assert ("site recover" in said) == (damage is not nothing)
    said = json.loads(securefair("site", "recover", *words, "--yes", "--json"))
    assert said.get("damaged") == (str(site / "store.damaged") if aside else None)
    if aside:
        assert (site / "store.damaged" / "store.sqlite").read_bytes() == broken
    securefair("site", "check", *words)
    with open_site(site, secret) as opened:
        assert opened.site.machine.memory.round == -1


@pytest.fixture
def blocking(swift_folder):
    """A site that has blocked a peer, left, and gone on with a second table."""
    found(swift_folder, wishes=("--algorithm", "transfer"))
    securefair("site", "block", swift_folder / "north", "south")
    with Store.open(swift_folder / "north" / "store") as store, store.transaction() as tx:
        tx.memory.put(LEFT, b"2026-01-01")
        tx.memory.put(RENEWALS, msgspec.msgpack.encode(Taken(number=0, trained=(b"mark",))))
    return swift_folder


def recovered(place, *more):
    words = (place / "north", "--passphrase-file", place / "passphrase", "--yes")
    return securefair("site", "recover", *words, *more)


@pytest.mark.parametrize("record_of", ["", "record 000000", "post peer south", "site state"])
def test_what_the_operator_decided_outlives_a_damaged_store(blocking, record_of):
    """A recovery took blocked peers back without a word."""
    store = blocking / "north" / "store"
    (record(record_of) if record_of else page_that_nobody_reads)(store)
    said = json.loads(recovered(blocking, "--json"))
    assert said["damaged"]
    assert said["blocked"] == ["south"]
    assert said["unread"] == ([] if "peer" not in record_of else said["unread"])
    with Store.open(store) as opened, opened.view() as tx:
        assert read_peer(tx, "south").blocked
        assert state_in(tx).peers.blocked == ("south",)
        assert tx.memory.get(LEFT) == b"2026-01-01"
        assert taken_in(tx).trained == (b"mark",)


@pytest.mark.parametrize(
    "damage",
    [
        no_header,
        shutil.rmtree,
        lambda store: (store / "store.sqlite").write_bytes(b""),
        lambda store: (store / "store.sqlite").unlink(),
    ],
    ids=["header", "lost", "empty", "gone"],
)
def test_what_cannot_be_read_any_more_is_said(blocking, damage):
    damage(blocking / "north" / "store")
    said = " ".join(recovered(blocking).split())
    assert (
        "COULD NOT BE READ: whether south was blocked, whether this site had left, which of its "
        "tables it had gone on with. If it had left, do not start it. Blocked: nobody. Whom it had "
        f"blocked besides must be blocked again: securefair site block {blocking / 'north'} PEER"
    ) in said


def test_a_record_of_tables_that_cannot_be_read_is_not_carried_over(blocking):
    record(RENEWALS)(blocking / "north" / "store")
    said = json.loads(recovered(blocking, "--json"))
    assert (said["blocked"], len(said["unread"])) == (["south"], 1)


@pytest.mark.parametrize("gone", [False, True])
def test_a_store_whose_database_is_lost_is_put_aside_with_its_large_values(blocking, gone):
    """The site's model is such a value: it was deleted."""
    store = blocking / "north" / "store"
    with Store.open(store) as opened, opened.transaction() as tx:
        tx.memory.put("site model", bytes(400_000))
    (store / "store.sqlite").unlink() if gone else (store / "store.sqlite").write_bytes(b"")
    aside = store.with_name("store.damaged")
    assert json.loads(recovered(blocking, "--json"))["damaged"] == str(aside)
    (large,) = (aside / "blobs").iterdir()
    assert large.stat().st_size == 400_000
