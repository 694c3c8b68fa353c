"""What every kind's participant remembers alike, as it was written and is read again."""

import msgspec
import pytest

from securefair.averaging import Gathering, Share
from securefair.collaboration.host import Host, Stored, stored_imports, stored_shares
from securefair.protocol.jobs import ImportPeer
from securefair.protocol.messages import Features, Keys

KEYS = Keys(2, b"public", b"evaluation")


class Forgetful(Host):
    """Only what every kind's host has."""

    def _missing(self, *_):
        raise NotImplementedError

    begin = run = renew = received = model = refitted = reputations = _missing
    measured = export_keys = _restore = _missing


@pytest.mark.parametrize("features", [None, Features(1, 40, b"x", b"basis")])
def test_an_import_is_read_as_it_was_written(features):
    one, job = Forgetful(Stored()), ImportPeer("bea", KEYS, features)
    one._remember_import(job)
    pieces = one.changed()
    assert list(stored_imports({**pieces, "kept model": b""})) == [job]
    assert one.changed() == {}


def test_shares_are_read_again_until_they_are_forgotten():
    gathering = Gathering(
        session=bytes(32), round=3, attempt=0, receiver="bea", senders=("ann", "cem")
    )
    share = Share(gathering, b"request", b"closed", b"key", publics={"cem": b"public"})
    one = Forgetful(Stored())
    one._remember_share(share)
    shares = stored_shares(one.changed(), 2)
    assert (shares.of("bea", 3), shares.floor) == (share, 2)
    one._forget_shares(shares.made)
    assert one.changed() == {"share bea 3": None}


def test_a_share_of_an_earlier_version_has_no_public_keys():
    gathering = Gathering(session=bytes(32), round=3, receiver="bea", senders=("ann", "cem"))
    share = Share(gathering, b"request", b"closed", b"key")
    fields = msgspec.to_builtins(share, builtin_types=(bytes,))
    del fields["publics"]
    pieces = {"share bea 3": msgspec.msgpack.encode(fields)}
    assert stored_shares(pieces, 0).of("bea", 3) == share


def test_only_who_was_given_a_store_remembers_and_only_pieces_are_taken_up():
    class Taking(Forgetful):
        taken = None

        def _restore(self, pieces):
            self.taken = pieces

    fresh, later = Taking(None), Taking(Stored())
    assert (fresh._remembers, later._remembers) == (False, True)
    fresh._take_up({})
    later._take_up({"kept model": b"m"})
    assert (fresh.restored, fresh.taken) == (False, None)
    assert (later.restored, later.taken) == (True, {"kept model": b"m"})
