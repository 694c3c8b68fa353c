"""Sites that are killed, disturbed and listened to decide as one process does."""

import os
import random

import msgspec
import numpy as np
import pytest

from securefair.averaging import Share
from securefair.collaboration.kinds import REGISTERED
from support.coefficients import coefficients

pytestmark = pytest.mark.slow

NOW = 1_800_000_000


@pytest.fixture(params=sorted(REGISTERED))
def algorithm(request):
    return request.param


def test_sites_decide_as_one_process_does(make_town, check_same, algorithm):
    decided = algorithm.startswith("cycle")  # by coins and reputations, which four tell better
    town = make_town(4 if decided else 3, algorithm=algorithm, rounds=3)
    town.live()
    check_same(town)
    for name in town.names:
        kinds = [kind for kind, _ in town.audited(name)]
        assert kinds.count("round over") == town.rounds
        assert kinds.count("closed") == 1
        assert town.answered(name) == town.numbers(name)
        assert "blame" not in kinds
        assert town.refused(name) == {}


def test_a_kill_before_and_after_every_commit_changes_nothing(make_town, check_same, algorithm):
    """In turns: killed before a commit, killed after one, and one that is not. A third site, which
    sums need, goes on; all do the same."""
    pairs = algorithm in ("cycle", "vpdl")  # else two make no sum
    town = make_town(2 if pairs else 3, algorithm=algorithm, rounds=2)

    def killer():
        done = {"left": ["before", "after", ""]}

        def kills():
            when = done["left"].pop(0)
            if not done["left"]:
                done["left"] = ["before", "after", ""]
            return when

        return kills

    for name in town.names[:2]:
        town.kills[name] = killer()
        town.kill(name)
    town.live()
    assert town.restarts > 40 * town.rounds
    check_same(town)
    for name in town.names:
        kinds = [kind for kind, _ in town.audited(name)]
        assert (kinds.count("closed"), kinds.count("blame")) == (1, 0)
        assert town.answered(name) == town.numbers(name)


@pytest.mark.parametrize("algorithm", sorted(set(REGISTERED) - {"vpdl"}))
def test_kills_at_random_commits_change_nothing(make_town, check_same, algorithm):
    """Not vpdl: it is cycle in which everybody shares in every round."""
    town = make_town(3, algorithm=algorithm, rounds=4)
    rng = random.Random(0)
    for name in town.names:
        town.kills[name] = lambda: rng.choice(["before", "after"]) if rng.random() < 0.05 else ""
        town.kill(name)
    town.live()
    assert town.restarts > 3 * town.rounds
    check_same(town)


def faulty_postman(town, rate, seed):
    """Drops, repeats, reorders, delays and alters parcels, each at this rate."""
    rng = random.Random(seed)
    held = []

    def hand_over(peer, parcel):
        fault = int(rng.random() / rate)
        if fault == 0:
            return None
        if fault == 1:
            town.deliver(peer, parcel)
        elif fault == 2:
            held.append((peer, parcel))
            return None
        elif fault == 3:
            altered = bytearray(parcel)
            altered[rng.randrange(len(altered))] ^= 1 << rng.randrange(8)
            return town.deliver(peer, bytes(altered))
        elif fault == 4 and held:
            town.deliver(*held.pop(rng.randrange(len(held))))
        return town.deliver(peer, parcel)

    return hand_over


def test_faults_of_the_courier_change_nothing(make_town, check_same):
    """5 % each of five faults; SECUREFAIR_ROUNDS=1000 is the long form (`make soak`)."""
    rounds = int(os.environ.get("SECUREFAIR_ROUNDS", "6"))
    town = make_town(3, rounds=rounds)
    town.live(faulty_postman(town, 0.05, 1), turns=20_000 * rounds)
    check_same(town)
    assert sum(town.refused(name).get("forged", 0) for name in town.names) > 0
    assert all(kind != "blame" for name in town.names for kind, _ in town.audited(name))


def test_real_encryption_decides_alike_although_every_site_is_killed(make_town):
    """Secret keys come out of the keystore: answers under way are opened after the restart."""
    town = make_town(2, rounds=4, backend="rns")
    killed = dict.fromkeys(town.names, 0)

    def killer(name):
        def kills():
            killed[name] += 1
            return "after" if killed[name] % 7 == 0 else ""

        return kills

    for name in town.names:
        town.kills[name] = killer(name)
        town.kill(name)
    town.live()
    assert town.restarts > 10
    records, _ = town.in_one_process()
    for at, name in enumerate(town.names):
        for own, theirs in zip(town.records(name), records, strict=True):
            assert own.opened == tuple(
                n for n, yes in zip(town.names, theirs.answered[at], strict=True) if yes
            )
            for peer, reputation in own.reputations.items():
                expected = theirs.reputation[at][town.names.index(peer)]
                assert reputation == pytest.approx(expected, abs=5e-2)  # the noise of answers
        assert all(kind != "blame" for kind, _ in town.audited(name))


@pytest.mark.parametrize(
    ("algorithm", "sites", "rounds", "forced"), [("cycle", 2, 12, 3), ("cycle-gossip", 3, 5, 2)]
)
def test_spent_keys_are_renewed_although_every_site_is_killed(
    make_town, algorithm, sites, rounds, forced
):
    """New keys are in the keystore before the public ones leave, whenever the process ends."""
    changes = {"encryption.key_bits": 16, "fairness.forced_every": forced}
    town = make_town(sites, algorithm=algorithm, rounds=rounds, backend="rns", changes=changes)
    first = dict(town.keys)
    rng = random.Random(4)
    for name in town.names:
        town.kills[name] = lambda: rng.choice(["before", "after"]) if rng.random() < 0.1 else ""
        town.kill(name)
    town.live()
    assert town.restarts > town.rounds
    for name in town.names:
        memory = town.sites[name].machine.memory
        assert memory.upload.renewal >= 1
        assert town.keys[name].reveal() != first[name].reveal()
        for peer, account in memory.ledger.accounts.items():
            assert account.bits > 16 or algorithm == "cycle-gossip"
            known = town.sites[peer].machine.memory.peers[name].introduction
            assert known.key_epoch == memory.upload.renewal
        assert all(kind != "blame" for kind, _ in town.audited(name))
        in_forced = [record for record in town.records(name) if record.forced]
        assert all(len(record.opened) == sites - 1 for record in in_forced)


@pytest.mark.parametrize("seed", range(2))
def test_no_second_part_is_made_under_one_mask(make_town, seed):
    """Every closed share that ever leaves a sender for one attempt is the same bytes."""
    town = make_town(4, algorithm="cycle-gossip", rounds=3)
    rng, parts = random.Random(seed), {}
    for name in town.names:
        town.kills[name] = lambda: rng.choice(["before", "after"]) if rng.random() < 0.1 else ""
        town.kill(name)

    def watched(peer, parcel):
        for name in town.names:
            if name in town.stores:
                note(name)
        return town.deliver(peer, parcel)

    def note(name):
        with town.stores[name].view() as tx:
            for key in tx.memory.names("host share "):
                content = msgspec.msgpack.decode(tx.memory.get(key), type=Share)
                at = (name, content.gathering.receiver, content.gathering.digest)
                parts.setdefault(at, set()).add(content.closed)

    town.live(watched)
    assert town.restarts > 20
    assert len(parts) > 8
    assert all(len(closed) == 1 for closed in parts.values())


def test_what_a_courier_sees_holds_nothing_of_a_site(make_town):
    """Even without encryption inside: envelopes are sealed, and name sites by fingerprints."""
    town = make_town(3, algorithm="transfer")
    seen = []

    def relay(peer, parcel):
        receipt = town.deliver(peer, parcel)
        seen.append(parcel + (receipt or b""))
        return receipt

    town.live(relay)
    forwarded = b"".join(seen)
    assert len(forwarded) > 10_000
    for name in town.names:
        own, host = town.data[name], town.hosts[name]
        canaries = [name.encode(), town.identities[name].secrets()[:16]]
        canaries += [value.tobytes() for value in own.train.features.ravel()]
        learnt = coefficients(host.transferred.model)
        canaries += [value.tobytes() for value in learnt[learnt != 0]]
        canaries += [value.tobytes() for one in host.notes.released.values() for value in one.flat]
        canaries += [value.astype(np.float32).tobytes() for value in own.train.features.ravel()]
        assert len(canaries) > 200
        assert not [canary for canary in canaries if canary in forwarded]
