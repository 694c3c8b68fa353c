"""What the rounds of a site tell of a peer that was gone."""

import types

import msgspec

from securefair.report.presence import PeerLife
from securefair.sites.site.export import _peer
from securefair.sites.site.records import note_peers, peers_of, rounds_away
from securefair.storage import Store
from support.site_statuses import RECORD, peer_status

SOUTH = peer_status(presence=PeerLife.AWAY, ready=2)


def played():
    """It answers, misses a round, and is away in two."""
    there, missing, gone = {}, {"opened": (), "missed": ("south",)}, {"asked": (), "opened": ()}
    changes = [there, missing, gone | {"away": ("south",)}, gone | {"away": ("south",)}]
    return [msgspec.structs.replace(RECORD, **one) for one in changes]


def test_rounds_in_which_a_peer_was_away_are_counted():
    assert rounds_away(played()) == {"south": 2}
    assert rounds_away(played()[:2]) == {}


def test_a_report_counts_rounds_without_a_peer_whether_it_was_asked_or_away():
    peer = _peer(SOUTH, played(), "both")
    assert (peer.answered, peer.missed, peer.presence) == (1, 3, PeerLife.AWAY)
    assert _peer(SOUTH, played()[:1], "both").missed == 0


def test_whom_a_site_exchanges_with_is_read_from_its_store(tmp_path):
    project = types.SimpleNamespace(names=("north", "south", "west"))
    with Store.open(tmp_path / "store") as store, store.transaction() as tx:
        assert peers_of(tx, project, "north") == ("south", "west")  # not opened yet
        note_peers(tx, ("west",))
        assert peers_of(tx, project, "north") == ("west",)
