"""A peer lies about this site's own store: in receipts, which it signs, and in epochs.

Before, one signed receipt was believed: the site stopped, blamed itself and recommended `recover`,
after which it answers nobody. Now only what this site has signed itself is proof.
"""

import shutil

import pytest

from securefair.sites.post.envelope import seal
from securefair.sites.post.peers import read_peer
from securefair.sites.post.quotes import NO_QUOTE, quote_of
from securefair.sites.post.receipts import NONCE_BYTES, Fate, Receipt
from securefair.sites.post.settling import EPOCH_LASTS
from securefair.sites.post.streams import LAST_EPOCH
from securefair.sites.site.recovery import recover_store, recovered_in
from support.ends import NOW, PROJECT, WHO, End


@pytest.fixture
def town(tmp_path):
    ends = [End(tmp_path, "north", ("south", "west")), End(tmp_path, "west", ("north", "south"))]
    yield ends
    for end in ends:
        end.store.close()


def receipt_of(parcel, **lie):
    """What south signs of the parcel that north gave it."""
    facts = {
        "nonce": parcel[:NONCE_BYTES],
        "project": PROJECT,
        "by": WHO["south"].card.fingerprint,
        "to": WHO["north"].card.fingerprint,
        "fate": Fate.TAKEN,
        "epoch": 0,
        "expected": 1,
        "newest": NO_QUOTE,
        "before": NO_QUOTE,
    }
    return Receipt(**(facts | lie)).encode(WHO["south"])


def vulnerable_step(expected, following):
    """A copy of what a site did: it believed a peer about its own store."""
    return expected > following  # -> fault, "run `securefair site recover`"


def own_envelope(recipient="south", signer="north", **changes):
    facts = {
        "project": PROJECT,
        "epoch": 0,
        "sequence": 0,
        "round": 0,
        "sent": NOW,
        "expires": NOW + 1000,
        "audit_count": 0,
        "audit_head": bytes(32),
    }
    return seal(WHO[signer], WHO[recipient].card, b"frame", **(facts | changes))


LIES = {
    "more than was made": {"expected": 1000},
    "more than any site makes": {"expected": 2**64 - 1},
    "turned back": {"fate": Fate.TURNED_BACK},
    "less than it confirmed": {"expected": 0},
    "an epoch that nobody reaches": {"epoch": 2**64 - 1},
    "an audit log of 2^64 - 1 rows": {
        "newest": quote_of(own_envelope(signer="west", audit_count=2**64 - 1))
    },
    "a quote that another signed": {"expected": 9, "newest": quote_of(own_envelope(signer="west"))},
    "a quote for another": {
        "expected": 9,
        "newest": quote_of(own_envelope("west", sequence=8)),
    },
    "a quote of noise": {"expected": 9, "newest": bytes([7]) * len(NO_QUOTE)},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_lying_receipt_stops_nothing_but_its_own_pair(town, lie):
    north, west = town
    north.say("south", b"one", b"two")
    parcel = north.post.pending("south", 0)
    assert north.post.settle("south", receipt_of(parcel))  # an honest one first
    for _ in range(20):
        parcel = north.post.pending("south", 0)
        north.post.settle("south", receipt_of(parcel, **lie))
        assert north.post.fault is None
    north.say("west", b"hello")
    assert north.deliver(west)[0]
    assert west.heard() == [b"hello"]
    with north.store.view() as tx:
        told = read_peer(tx, "south").fault
        rows = len(list(tx.audit.rows()))
    counted = {what for what in north.refused() if what.endswith(", south")}
    assert told or counted  # the operator reads whose lie it was
    assert "securefair site recover" not in told
    assert rows <= 6  # twenty lies: their first and each doubling


def test_the_vulnerable_step_believed_the_peer():
    assert vulnerable_step(1000, following=2)


def test_what_this_site_signed_and_forgot_is_proof(town):
    """A backup that was put back: south quotes an envelope that north made after it."""
    north, _ = town
    north.say("south", b"one")
    parcel = north.post.pending("south", 0)
    forgotten = quote_of(own_envelope(sequence=1))
    assert not north.post.settle("south", receipt_of(parcel, expected=2, newest=forgotten))
    assert "signed by this site" in str(north.post.fault)
    assert "securefair site recover" in str(north.post.fault)


def test_an_envelope_of_a_higher_epoch_is_proof_as_well(town):
    """A backup of before a recovery must not go on by the peer's epoch."""
    north, _ = town
    north.say("south", b"one")
    parcel = north.post.pending("south", 0)
    later = quote_of(own_envelope(epoch=NOW))
    assert not north.post.settle("south", receipt_of(parcel, epoch=NOW, newest=later))
    assert north.post.fault is not None


def test_a_signed_head_of_another_audit_log_is_proof(town):
    north, _ = town
    north.say("south", b"one")
    parcel = north.post.pending("south", 0)
    assert north.post.settle("south", receipt_of(parcel, newest=quote_of(parcel[NONCE_BYTES:])))
    with north.store.transaction() as tx:
        tx.audit.append("written anew", {}, at="now")
    north.say("south", b"two")
    other = own_envelope(audit_count=1, audit_head=bytes([1]) * 32)
    parcel = north.post.pending("south", 0)
    assert not north.post.settle("south", receipt_of(parcel, before=quote_of(other)))
    assert "audit log" in str(north.post.fault)


def test_any_epoch_that_a_peer_may_claim_leaves_room_to_recover(town):
    north, _ = town
    north.say("south", b"one")
    parcel = north.post.pending("south", 0)
    north.post.settle("south", receipt_of(parcel, epoch=LAST_EPOCH))
    with north.store.transaction() as tx:
        assert read_peer(tx, "south").epoch == LAST_EPOCH
        recover_store(tx, ("south", "west"), NOW, 1, NOW + 1000)  # crashed at 2^64 - 1
        assert read_peer(tx, "west").epoch == NOW
        assert read_peer(tx, "south").blocked
    north.say("west", b"recovered")
    assert north.post.pending("west", 0) is not None


def test_a_peer_that_renews_its_epoch_for_ever_does_not_fill_the_audit_log(town):
    north, _ = town
    for epoch in range(1, 200):
        north.say("south", b"one")
        parcel = north.post.pending("south", 0)
        north.post.settle("south", receipt_of(parcel, epoch=epoch, expected=0))
        north.now += EPOCH_LASTS
    with north.store.view() as tx:
        assert len(list(tx.audit.rows())) <= 8
        assert tx.outbox.next_sequence("south 199") == 0


def test_a_receipt_begins_an_epoch_once_a_minute_too(town):
    """An envelope of it came next, and was of the present epoch by then: all was told again."""
    north, _ = town
    for epoch in range(1, 100):
        north.say("south", b"keys and features %d" % epoch)
        north.post.settle("south", receipt_of(north.post.pending("south", 0), epoch=epoch))
        north.now += 1
    with north.store.view() as tx:
        assert read_peer(tx, "south").epochs == 2


@pytest.mark.parametrize("top", [LAST_EPOCH, LAST_EPOCH - 1, NOW + 1000])
@pytest.mark.parametrize("backup", [True, False], ids=["backup", "lost"])
def test_an_epoch_that_a_peer_has_made_up_stops_no_other_pair(tmp_path, top, backup):
    """South moved the pair by a signed lie, and shows what north then signed there, after north has
    lost its store: every `site recover` began above that, with all, until none was left."""
    peers = ("south", "west")
    north, west = End(tmp_path, "north", peers), End(tmp_path, "west", ("north", "south"))
    north.store.close()
    if backup:
        shutil.copytree(north.folder, tmp_path / "backup")
    north.open()
    north.say("south", b"one")
    north.post.settle("south", receipt_of(north.post.pending("south", 0), epoch=top))
    north.say("south", b"two")
    shown = quote_of(north.post.pending("south", 0)[NONCE_BYTES:])
    north.store.close()
    shutil.rmtree(north.folder)
    if backup:
        (tmp_path / "backup").rename(north.folder)
    north.open()
    for turn in range(4):
        with north.store.transaction() as tx:
            recover_store(tx, peers, NOW + turn, 4, NOW + 1000)
            epochs = {peer: read_peer(tx, peer).epoch for peer in peers}
            assert not read_peer(tx, "west").blocked
            assert recovered_in(tx).key_epoch <= (NOW + 1000) // 60 + 100
        assert epochs["west"] <= NOW + 1001 + turn
        north.say("west", b"back")
        west.now += EPOCH_LASTS
        assert north.deliver(west)[0]
        north.say("south", b"back")
        if (parcel := north.post.pending("south", 0)) is None:
            break  # south has shut itself out
        north.post.settle("south", receipt_of(parcel, epoch=top, newest=shown))
        if north.post.fault is None:
            break  # the pair is above what south may show
        north.post.fault = None
    assert turn <= 2
    assert north.post.fault is None
    assert west.heard()[-1] == b"back"
    for end in (north, west):
        end.store.close()
