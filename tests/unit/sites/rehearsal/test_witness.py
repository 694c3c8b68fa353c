"""Broken promises that a rehearsal must find."""

import dataclasses
from collections import Counter

import msgspec
import pytest

from securefair.averaging import Share
from securefair.errors import SecureFairError
from securefair.sites.post.envelope import seal
from securefair.sites.project.identity import Identity
from securefair.sites.rehearsal.witness import Witness, check_versions, noting
from securefair.sites.site.notes import told_in

NOW = 1_800_000_000


@pytest.fixture
def lived(make_town):
    def live(algorithm):
        town = make_town(4, algorithm=algorithm, rounds=3)
        town.live()
        return town, Witness()

    return live


def seen(town, witness):
    for look in (witness.see, witness.compare):
        for name in town.names:
            with town.stores[name].view() as tx:
                look(name, tx)


@pytest.mark.slow  # whole runs of sites, as of the two tests below
@pytest.mark.parametrize("algorithm", ["transfer", "cycle", "cycle-gossip"])
def test_nothing_is_found_where_every_promise_was_kept(lived, algorithm):
    town, witness = lived(algorithm)
    seen(town, witness)
    seen(town, witness)
    assert len(witness.opened) == 4 * 3
    assert bool(witness.shares) == (algorithm != "cycle")


@pytest.mark.slow
def test_a_second_part_under_one_mask_is_found(lived):
    town, witness = lived("transfer")
    seen(town, witness)
    with town.stores["north"].transaction() as tx:
        name = tx.memory.names("host share ")[0]
        share = msgspec.msgpack.decode(tx.memory.get(name), type=Share)
        other = dataclasses.replace(share, closed=share.closed[::-1])
        tx.memory.put(name, msgspec.msgpack.encode(other))
    with pytest.raises(SecureFairError, match="two parts under one mask"):
        seen(town, witness)


@pytest.mark.slow
def test_a_ledger_that_counts_less_than_was_opened_is_found(lived, monkeypatch):
    town, witness = lived("cycle")
    seen(town, witness)

    def fewer(tx):
        return Counter({name: numbers - 1 for name, numbers in told_in(tx).items()})

    monkeypatch.setattr("securefair.sites.rehearsal.witness.told_in", fewer)
    with pytest.raises(SecureFairError, match="more than its ledger counts"):
        seen(town, witness)


def test_two_versions_of_an_envelope_are_found(tmp_path):
    north, south = (Identity.generate(name, now=NOW) for name in ("north", "south"))
    file, carried = tmp_path / "sent", []

    def envelope(sequence):
        return bytes(16) + seal(
            north,
            south.card,
            b"frame",
            project=bytes(32),
            epoch=0,
            sequence=sequence,
            round=0,
            sent=NOW,
            expires=NOW + 1000,
            audit_count=0,
            audit_head=bytes(32),
        )

    courier = noting(lambda parcel: carried.append(parcel) or b"receipt", "south", file)
    first = envelope(0)
    for parcel in (first, b"other nonce 1234" + first[16:], envelope(1)):
        assert courier(parcel) == b"receipt"
    assert len(carried) == 3
    check_versions(file, "north")
    check_versions(tmp_path / "nothing yet", "north")
    courier(envelope(0))
    with pytest.raises(SecureFairError, match="two versions") as problem:
        check_versions(file, "north")
    assert problem.value.where == "north to south 0 0"
