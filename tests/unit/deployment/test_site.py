import itertools
import os
import random
import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from securefair.averaging import Share
from securefair.collaboration.kinds import REGISTERED
from securefair.deployment.notices import Notice, notice_frame
from securefair.deployment.records import learned_from
from securefair.deployment.recovery import recover_store
from securefair.deployment.site import CONTROL_SCOPE, SCOPE
from securefair.errors import StorageError

pytestmark = pytest.mark.slow

NOW = 1_800_000_000


@pytest.fixture(params=sorted(REGISTERED))
def algorithm(request):
    return request.param


def test_sites_decide_as_one_process_does(make_town, check_same, algorithm):
    town = make_town(4, algorithm=algorithm, rounds=7)
    town.live()
    check_same(town)
    for name in town.names:
        kinds = [kind for kind, _ in town.audited(name)]
        assert kinds.count("round over") == town.rounds
        assert "blame" not in kinds
        assert town.refused(name) == {}


def test_a_kill_before_and_after_every_commit_changes_nothing(make_town, check_same, algorithm):
    """In turns: killed before a commit, killed after one, and one that is not."""
    town = make_town(3, algorithm=algorithm, rounds=3)

    def killer():
        done = {"left": ["before", "after", ""]}

        def kills():
            when = done["left"].pop(0)
            if not done["left"]:
                done["left"] = ["before", "after", ""]
            return when

        return kills

    for name in town.names:
        town.kills[name] = killer()
        town.kill(name)
    town.live()
    assert town.restarts > 40 * town.rounds
    check_same(town)
    assert all(kind != "blame" for name in town.names for kind, _ in town.audited(name))


@pytest.mark.parametrize("seed", range(2))
def test_kills_at_random_commits_change_nothing(make_town, check_same, algorithm, seed):
    town = make_town(3, algorithm=algorithm, rounds=6)
    rng = random.Random(seed)
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
    rounds = int(os.environ.get("SECUREFAIR_ROUNDS", "20"))
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


@pytest.mark.parametrize("algorithm", ["cycle", "cycle-gossip"])
def test_spent_keys_are_renewed_although_every_site_is_killed(make_town, algorithm):
    """New keys are in the keystore before the public ones leave, whenever the process ends."""
    town = make_town(
        3, algorithm=algorithm, rounds=14, backend="rns", changes={"encryption.key_bits": 16}
    )
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
            assert account.key_bits <= 16 < account.bits or algorithm == "cycle-gossip"
            known = town.sites[peer].machine.memory.peers[name].introduction
            assert known.key_epoch == memory.upload.renewal
        with town.stores[name].view() as tx:
            charged = tx.ledger.spent(CONTROL_SCOPE).bits
        told = sum(account.bits for account in memory.ledger.accounts.values())
        assert charged == pytest.approx(told)
        assert all(kind != "blame" for kind, _ in town.audited(name))
        forced = [record for record in town.records(name) if record.forced]
        assert all(len(record.opened) == 2 for record in forced)


def test_a_site_that_is_gone_for_good_costs_one_deadline(make_town):
    town = make_town(3, rounds=6)
    while len(town.records("west")) < 2:
        for name in town.names:
            town.sites[name].turn()
            town.walk(name)
    town.stop("west")
    before = town.now
    town.live()
    for name in ("north", "south"):
        records = town.records(name)
        assert [record.round for record in records] == list(range(6))
        assert "west" in records[-1].away
        assert records[3].opened == (("south",) if name == "north" else ("north",))  # forced
    assert town.now - before < 4 * 50.0 + 600.0 + 100


def test_a_site_that_comes_back_takes_part_again(make_town):
    town = make_town(3, rounds=12)
    while len(town.records("west")) < 2:
        for name in town.names:
            town.sites[name].turn()
            town.walk(name)
    town.stop("west")
    while len(town.records("north")) < 6:
        moved = False
        for name in ("north", "south"):
            moved |= town.sites[name].turn()
            moved |= town.walk(name)
        if not moved:
            town.now += 1.0
    town.start("west")
    town.live()
    north, west = town.records("north"), town.records("west")
    assert north[-1].away == ()
    assert "west" in north[9].opened  # a forced round after its return
    assert len(west) < 12
    assert west[-1].round == 11
    assert all(kind != "blame" for name in town.names for kind, _ in town.audited(name))


def test_numbers_in_the_durable_ledger_are_those_that_were_opened(make_town):
    town = make_town(3, rounds=5)
    town.live()
    for teacher in town.names:
        with town.stores[teacher].view() as tx:
            entries = tx.ledger.entries()
        prints = {name: one.card.fingerprint.hex() for name, one in town.identities.items()}
        told = {
            name: sum(entry.amount.numbers for entry in entries if entry.identity == fingerprint)
            for name, fingerprint in prints.items()
        }
        for student in town.names:
            if student != teacher:
                opened = [r for r in town.records(student) if teacher in r.opened]
                assert told[student] == len(opened) * 8 * 2  # q numbers of each class


def test_a_full_disk_ends_a_site_with_a_sentence_and_loses_nothing(make_town, check_same):
    town = make_town(2, rounds=3)

    class FullStore(type(town.sites["north"]._store)):
        def transaction(self):
            raise StorageError("the disk is full", where="store")

    for _ in range(5):
        for name in town.names:
            town.sites[name].turn()
            town.walk(name)
    site = town.sites["north"]
    working = site._store
    site._store = FullStore(working.store, working.kills)
    with pytest.raises(StorageError, match="disk is full"):
        until(town, "north", 3)
    town.kill("north")
    town.live()
    check_same(town)


def backup(town, name):
    town.stores[name].close()
    shutil.copytree(town.folder / name, town.folder / "backup")
    town.start(name)


def put_back(town, name):
    town.stores[name].close()
    shutil.rmtree(town.folder / name)
    shutil.copytree(town.folder / "backup", town.folder / name)
    town.start(name)


def until(town, name, rounds):
    while len(town.records(name)) < rounds:
        moved = False
        for each in town.names:
            moved |= town.sites[each].turn()
            moved |= town.walk(each)
        if not moved:
            town.now += 1.0


def test_a_backup_that_is_put_back_stops_its_site_and_a_recovery_answers_nobody(make_town):
    town = make_town(3, rounds=12)
    until(town, "north", 3)
    backup(town, "north")
    until(town, "north", 5)
    told = numbers_of(town, "north")
    put_back(town, "north")
    with pytest.raises(StorageError, match="not what its peers remember"):
        until(town, "north", 6)
    assert any("turned back, north" in town.refused(peer) for peer in ("south", "west"))
    town.posts["north"].fault = None
    limit = town.sites["north"].machine.settings.disclosure.student_total
    with town.stores["north"].transaction() as tx:
        left = recover_store(tx, ("south", "west"), limit or 10**6, NOW + town.now)
    assert left.round == 2
    del town.keys["north"]  # the keys as a student are made anew
    town.kill("north")
    town.live()
    records = town.records("north")
    assert records[-1].round == 11
    forced = [record for record in records if record.round in (6, 9)]
    assert any(record.opened for record in forced)  # it learns
    for peer in ("south", "west"):
        later = [record for record in town.records(peer) if record.round >= 7]
        assert all("north" not in record.opened for record in later)  # and answers nobody
    assert numbers_of(town, "north") <= told


def numbers_of(town, name):
    with town.stores[name].view() as tx:
        return tx.ledger.spent(SCOPE).numbers


def test_who_says_that_it_leaves_is_not_waited_for(make_town):
    town = make_town(3, rounds=5)
    until(town, "west", 2)
    with town.stores["west"].transaction() as tx:
        for peer in ("north", "south"):
            town.posts["west"].send(tx, peer, notice_frame(Notice(2, leaves=True)), 1)
    for _ in range(40):
        town.walk("west")
        for name in ("north", "south"):
            town.sites[name].turn()
            town.walk(name)
    town.stop("west")
    before = town.now
    town.live()
    assert [record.round for record in town.records("north")] == list(range(5))
    assert "west" in town.records("north")[-1].away
    assert town.now - before < 600.0  # only the last wait for whoever might still ask


@pytest.mark.parametrize("seed", range(2))
def test_no_second_part_is_made_under_one_mask(make_town, seed):
    """Every closed share that ever leaves a sender for one attempt is the same bytes."""
    town = make_town(4, algorithm="cycle-gossip", rounds=4)
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
        canaries += [value.tobytes() for value in host.transferred.model.linear.ravel()]
        canaries += [value.tobytes() for one in host.notes.released.values() for value in one.flat]
        canaries += [value.astype(np.float32).tobytes() for value in own.train.features.ravel()]
        assert len(canaries) > 200
        assert not [canary for canary in canaries if canary in forwarded]


def test_eight_sites_one_gone_one_slow_and_no_network_for_six_minutes(make_town):
    """At the courier: the last is killed for good, the slow one is reached every twentieth time."""
    town = make_town(8, rounds=20, round_seconds=600.0)
    gone, slow = town.names[-1], town.names[-2]
    attempts, carried, dark = 0, 0, None

    def courier(peer, parcel):
        nonlocal attempts, carried, dark
        if dark is None and len(town.records("north")) == 10:
            dark = town.now + 360.0
        if dark is not None and town.now < dark:
            return None
        if peer == slow:
            attempts += 1
            if attempts % 20:
                return None
        carried += len(parcel)
        return town.deliver(peer, parcel)

    while len(town.records(gone)) < 2:
        moved = False
        for name in town.names:
            moved |= town.sites[name].turn()
            moved |= town.walk(name, courier)
        if not moved:
            town.now += 1.0
    uploaded = carried
    town.stop(gone)
    town.live(courier, turns=2_000_000)
    for name in town.names[:-1]:
        records = town.records(name)
        assert [record.round for record in records] == list(range(20))
        assert gone in records[-1].away
        assert slow not in records[-1].away
    assert dark is not None
    assert (carried - uploaded) / (7 * 18) < 5e6


def test_a_receipt_that_never_comes_is_not_waited_for_long(make_town):
    """Its sender has ended all rounds and left; nobody else needs this site either."""
    town = make_town(2, rounds=1)
    town.live()
    site, post = town.sites["north"], town.posts["north"]
    clock = itertools.count(town.now, 0.25)
    quick = replace(site._schedule, monotonic=lambda: next(clock), leave=0.5)
    site._schedule, post.wait = quick, lambda _since, _seconds: None
    site._set_deadline(1e6)
    with town.stores["north"].transaction() as tx:
        post.send(tx, "south", notice_frame(Notice(1)), 0)
    assert not site.over
    site.run()
    assert next(clock) - town.now < 60.0


def test_a_teacher_asks_nobody_and_a_student_answers_nobody(make_town):
    town = make_town(4, algorithm="transfer", roles={"north": "teacher", "south": "student"})
    town.live()
    assert town.records("north")[0].combined == ()
    assert town.records("south")[0].combined == ("east", "north", "west")
    assert learned_from(town.records("north")) == ()
    assert learned_from(town.records("south")) == ("east", "north", "west")
    for peer in ("west", "east"):
        assert "north" in town.records(peer)[0].combined
        assert "south" not in town.records(peer)[0].combined
    assert numbers_of(town, "south") == 0
    with town.stores["north"].view() as tx:
        assert tx.memory.get("host request") is None  # no patient of it was ever encrypted
