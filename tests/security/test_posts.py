"""Attacks on a site's post: each is refused, counted in the audit log, and changes nothing else.

Mallory is the relay: she sees, keeps, repeats and alters every parcel. Eve has keys of her own.
"""

import shutil

import pytest

from securefair.errors import StorageError
from securefair.sites.post.envelope import read_header
from securefair.sites.post.peers import PeerState, read_peer, write_peer
from securefair.sites.post.receipts import NONCE_BYTES, RECEIPT_BYTES
from securefair.sites.post.settling import EPOCH_LASTS
from securefair.sites.project.identity import Identity
from securefair.storage import queues
from securefair.storage.audit import START
from support.ends import NONCE, NOW, WHO, End, envelope_of


@pytest.fixture
def ends(tmp_path):
    north = End(tmp_path, "north", ("south", "west"))
    south = End(tmp_path, "south", ("north", "west"))
    yield north, south
    for end in (north, south):
        end.store.close()


def refused_unchanged(end, parcel, reason):
    before, lines = end.content(), len(end.audited())
    receipt = end.post.receive(parcel)
    assert end.content() == before
    new = end.audited()[lines:]
    assert [(kind, facts["reason"]) for kind, facts in new] == [("refused", reason)]
    return receipt


def test_a_site_whose_store_is_closed_takes_nothing_and_says_so(ends):
    """No receipt at all: a courier keeps what an empty one, of an unknown sender, lets go."""
    north, south = ends
    north.say("south", b"frame")
    parcel = north.post.pending("south", 0)
    south.store.close()
    assert south.post.receive(parcel) is None
    south.open()
    assert north.post.settle("south", south.post.receive(parcel))


def test_what_is_said_arrives_in_order_and_once(ends):
    north, south = ends
    north.say("south", b"one", b"two", b"three")
    for _ in range(3):
        assert north.deliver(south)[0]
    assert north.post.pending("south", 0) is None
    assert south.heard() == [b"one", b"two", b"three"]
    with north.store.view() as tx:
        assert north.post.unconfirmed(tx, "south") == 0


def test_what_is_sent_again_is_the_same_bytes(ends):
    north, _ = ends
    north.say("south", b"one")
    first, second = (north.post.pending("south", 0) for _ in range(2))
    assert first == second


def test_a_receipt_counts_however_long_it_took_and_once(ends):
    north, south = ends
    north.say("south", b"one", b"two")
    receipt = south.post.receive(north.post.pending("south", 0))
    north.post.pending("south", 0)  # tried again meanwhile
    assert north.post.settle("south", receipt)
    following = north.post.pending("south", 0)
    assert not north.post.settle("south", receipt)
    assert north.post.pending("south", 0) == following
    assert following[:16] != receipt[4:20]


def test_a_replay_changes_nothing(ends):
    north, south = ends
    north.say("south", b"one", b"two")
    _, parcel = north.deliver(south)
    north.deliver(south)
    before = south.content()
    for _ in range(5):
        south.post.receive(parcel)
    assert south.content() == before
    assert south.heard() == [b"one", b"two"]
    assert south.refused() == {"repeated, north": 5}


def test_a_later_envelope_waits_for_the_earlier_one(ends):
    north, south = ends
    north.say("south", b"one", b"two")
    with north.store.view() as tx:
        _, second = (item.payload for item in tx.outbox.pending())
    south.post.receive(NONCE + second)
    with south.store.view() as tx:
        assert read_peer(tx, "north").forgotten
    assert south.heard() == []
    assert north.deliver(south)[0]
    with south.store.view() as tx:
        assert not read_peer(tx, "north").forgotten


def test_a_forged_caller_is_refused(ends):
    _, south = ends
    eve = Identity.generate("north", now=NOW)
    parcel = bytearray(envelope_of(eve, WHO["south"]))
    at = parcel.index(eve.card.fingerprint)
    parcel[at : at + 32] = WHO["north"].card.fingerprint
    assert refused_unchanged(south, bytes(parcel), "forged") == b""


def test_an_unknown_key_is_refused(ends):
    _, south = ends
    eve = Identity.generate("north", now=NOW)
    assert refused_unchanged(south, envelope_of(eve, WHO["south"]), "unknown sender") == b""


def test_a_reflection_is_refused(ends):
    north, _ = ends
    north.say("south", b"one")
    parcel = north.post.pending("south", 0)
    assert refused_unchanged(north, parcel, "reflected") == b""


def test_a_wrong_recipient_is_refused(ends):
    _, south = ends
    parcel = envelope_of(WHO["north"], WHO["west"])
    assert refused_unchanged(south, parcel, "wrong recipient") == b""


def test_another_project_is_refused(ends):
    _, south = ends
    parcel = envelope_of(WHO["north"], WHO["south"], project=bytes(32))
    assert refused_unchanged(south, parcel, "other project") == b""


def test_an_old_epoch_is_refused(ends):
    _, south = ends
    south.recover(7)
    receipt = refused_unchanged(south, envelope_of(WHO["north"], WHO["south"]), "old epoch")
    assert len(receipt) == RECEIPT_BYTES  # north learns of the new epoch


def test_a_blocked_peer_is_refused(ends):
    _, south = ends
    with south.store.transaction() as tx:
        write_peer(tx, "north", read_peer(tx, "north").plus(blocked=True))
    parcel = envelope_of(WHO["north"], WHO["south"])
    assert len(refused_unchanged(south, parcel, "blocked sender")) == RECEIPT_BYTES


def test_an_oversized_parcel_is_refused(ends):
    _, south = ends
    parcel = envelope_of(WHO["north"], WHO["south"], frame=bytes((1 << 16) + 1))
    assert refused_unchanged(south, parcel, "too large") == b""


def test_a_flood_of_refusals_does_not_flood_the_audit_log(ends):
    _, south = ends
    parcel = envelope_of(WHO["north"], WHO["west"])
    for _ in range(100):
        south.post.receive(parcel)
    assert south.refused() == {"wrong recipient": 100}
    assert [facts["count"] for _, facts in south.audited()] == [1, 2, 4, 8, 16, 32, 64]


def test_a_relay_cannot_say_that_something_was_taken(ends):
    north, south = ends
    north.say("south", b"one", b"two")
    parcel = north.post.pending("south", 0)
    good = south.post.receive(parcel)
    assert north.post.settle("south", good)
    north.post.pending("south", 0)
    assert not north.post.settle("south", good)  # an old receipt
    assert not north.post.settle("south", bytes(RECEIPT_BYTES))
    assert not north.post.settle("south", b"")
    forged = bytearray(good)
    forged[-1] ^= 1
    assert not north.post.settle("south", bytes(forged))
    assert north.post.pending("south", 0) is not None


# --- stores that were turned back, lost and recovered ---


def talk(north, south, *frames):
    north.say("south", *frames)
    for _ in frames:
        assert north.deliver(south)[0]


def turned_back(tmp_path, north, south):
    """North's store is copied, goes on, and is put back."""
    talk(north, south, b"one")
    north.store.close()
    shutil.copytree(north.folder, tmp_path / "backup")
    north.open()
    talk(north, south, b"two", b"three")
    north.store.close()
    shutil.rmtree(north.folder)
    shutil.copytree(tmp_path / "backup", north.folder)
    north.open()


def test_a_backup_that_was_put_back_is_noticed_on_both_sides(tmp_path, ends):
    north, south = ends
    turned_back(tmp_path, north, south)
    north.say("south", b"another two")
    assert not north.deliver(south)[0]
    assert north.post.fault is not None
    assert "turned back" in str(north.post.fault)
    assert south.heard() == [b"one", b"two", b"three"]
    with south.store.view() as tx:
        assert read_peer(tx, "north").turned_back


def test_a_backup_from_long_ago_stops_its_site_by_what_it_signed(tmp_path, ends, monkeypatch):
    """Of numbers so far back the peer remembers no content."""
    monkeypatch.setattr(queues, "REMEMBERED", 1)
    north, south = ends
    turned_back(tmp_path, north, south)
    with south.store.view() as tx:
        assert tx.inbox.next_sequence("north 0") == 3
    north.say("south", b"another two")
    assert not north.deliver(south)[0]
    with pytest.raises(StorageError, match="turned back to a backup"):
        raise north.post.fault
    assert south.heard() == [b"one", b"two", b"three"]


def test_a_store_that_was_turned_back_is_refused_until_it_is_recovered(tmp_path, ends):
    north, south = ends
    turned_back(tmp_path, north, south)
    north.say("south", b"another two", b"another three", b"four")
    for _ in range(3):
        assert not north.deliver(south)[0]
    parcel = envelope_of(WHO["north"], WHO["south"], sequence=3)
    assert len(south.post.receive(parcel)) == RECEIPT_BYTES
    assert south.heard() == [b"one", b"two", b"three"]
    north.recover(NOW)
    talk(north, south, b"new one")
    assert south.heard() == [b"new one"]  # what was not handled of the old epoch is void
    with south.store.view() as tx:
        known = read_peer(tx, "north")
        assert known.seen == START
        assert known.plus(bytes_in=0, newest=b"") == PeerState(
            epoch=NOW, epochs=1, began=NOW, heard=NOW
        )


def test_a_lost_store_is_noticed_by_its_peers(ends):
    north, south = ends
    talk(north, south, b"one", b"two")
    south.say("north", b"hello", b"again")
    south.deliver(north)
    south.deliver(north)
    north.store.close()
    shutil.rmtree(north.folder)
    north.open()
    south.say("north", b"more")
    assert not south.deliver(north)[0]
    assert south.post.fault is None
    with south.store.view() as tx:
        assert "its store was lost" in read_peer(tx, "north").fault
    north.say("south", b"one, once more")
    assert not north.deliver(south)[0]
    assert north.post.fault is not None
    north.recover(NOW)
    north.post.fault = None
    talk(north, south, b"recovered")
    assert south.heard()[-1] == b"recovered"
    south.say("north", b"welcome back")
    assert south.deliver(north)[0]
    assert north.heard() == [b"welcome back"]


def test_an_audit_log_that_was_cut_is_found_by_its_peers(ends):
    north, south = ends
    with north.store.transaction() as tx:
        for at in range(5):
            tx.audit.append("event", {"at": at}, at="now")
    talk(north, south, b"one")
    with north.store.transaction() as tx:
        tx.audit._connection.execute("DELETE FROM audit WHERE position = 4")
    north.say("south", b"two")
    north.deliver(south)
    assert north.post.fault is not None
    assert "audit log" in str(north.post.fault)
    with south.store.view() as tx:
        assert "audit log has 4 rows, and had 5" in read_peer(tx, "north").fault


def test_an_audit_log_that_was_written_anew_is_found_by_its_peers(ends):
    north, south = ends
    with north.store.transaction() as tx:
        tx.audit.append("answered", {"peer": "west"}, at="now")
    talk(north, south, b"one")
    with north.store.transaction() as tx:
        tx.audit._connection.execute("DELETE FROM audit")
        tx.audit.append("answered", {"peer": "south"}, at="now")
        tx.audit.append("answered", {"peer": "south"}, at="now")
        tx.audit.verify()  # by itself it is whole
    north.say("south", b"two")
    south.post.receive(north.post.pending("south", 0))  # whose receipt is lost
    assert north.post.fault is None
    north.deliver(south)
    assert "audit log" in str(north.post.fault)


def departures(north, tick):
    """When envelopes left, and when they say that they were sent, which were sealed a while ago."""
    found = set()
    for after in (0.0, 13.75, 29.25, 59.75):
        north.store.close()
        shutil.rmtree(north.folder)
        north.open(tick)
        north.now = NOW + after
        north.say("south", b"frame")
        while (parcel := north.post.pending("south", 0)) is None:
            north.now += 0.25
        found.add((north.now, read_header(parcel[NONCE_BYTES:], limit=1 << 20).sent))
    return found


def test_when_an_envelope_leaves_tells_when_it_was_made(ends):
    north, _ = ends
    assert len(departures(north, 0)) == 4


def test_on_a_tick_all_of_a_minute_leave_and_are_dated_alike(ends):
    north, _ = ends
    assert departures(north, 60) == {(NOW + 60.0, NOW + 60)}


def test_a_peer_that_begins_anew_and_anew_is_told_everything_once_a_minute(tmp_path):
    """Each epoch costs one small envelope, and keys and features are sealed once more for it."""
    north, south = (
        End(tmp_path, *names) for names in (("north", ("south",)), ("south", ("north",)))
    )
    for number in range(1, 100):
        north.recover(NOW + number)
        north.say("south", b"anew")
        taken, _ = north.deliver(south)
        assert taken == (number % EPOCH_LASTS == 1)
        south.now += 1
    with south.store.view() as tx:
        assert read_peer(tx, "north").epochs == 2
    south.now = NOW - 1000  # a clock that was put back makes nobody wait for it
    north.recover(NOW + 1000)
    north.say("south", b"anew")
    assert north.deliver(south)[0]
    for end in (north, south):
        end.store.close()
