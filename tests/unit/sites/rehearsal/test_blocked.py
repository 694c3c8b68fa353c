"""Sites that are blocked, and taken back."""

import contextlib

import pytest
from msgspec.structs import replace

from securefair.errors import ConfigError
from securefair.report.presence import PeerLife
from securefair.sites.post.peers import read_peer, write_peer
from securefair.sites.post.streams import LAST_EPOCH
from securefair.sites.site.records import keep_state, state_in
from securefair.sites.site.recovery import block, recover
from securefair.sites.site.status import site_status
from support.years import NOW, small_hospitals, small_year

DEADLINE_DAYS = 20.0
ROUNDS = 5

pytestmark = pytest.mark.slow  # whole rounds of several sites


def year_of(place):
    return small_year(place, small_hospitals(3), "vpdl", ROUNDS, round_days=DEADLINE_DAYS)


def nights(year, day, act):
    """How many pass until one site has ended all rounds, if this is done on one of them."""
    for night in range(120):
        if night == day:
            act(year.names[2])
        year.night()
        if len(year.records(year.names[0])) == ROUNDS:
            return night
    pytest.fail("the rounds did not end")


def peer_of(year, peer):
    with year.opened(year.names[0]).store.view() as tx:
        opened = year.opened(year.names[0])
        status = site_status(tx, opened.project, opened.settings.name)
        return read_peer(tx, peer), next(one for one in status.peers if one.name == peer)


def test_blocks_cost_no_nights(tmp_path):
    """A blocked site was asked in every round to the end, which took a deadline each; and what was
    asked was sealed for keys that somebody else may have. It costs what one that leaves does."""
    needed = {}
    for how in ("leave", "lose_keys"):
        (place := tmp_path / how[:2]).mkdir()  # short: a site's door is a socket
        with contextlib.closing(year := year_of(place)):
            peer, before = year.names[2], []

            def act(name, how=how, year=year, before=before):
                before.append(peer_of(year, name)[0].bytes_out)
                getattr(year, how)(name)

            needed[how] = nights(year, 5, act)
            known, status = peer_of(year, peer)
            if how == "lose_keys":
                assert status.presence is PeerLife.BLOCKED
                assert [known.bytes_out] == before
    assert needed["lose_keys"] <= needed["leave"] + 1
    assert needed["leave"] < DEADLINE_DAYS


def test_a_block_that_is_taken_back_leaves_nothing(tmp_path):
    """Whoever was blocked was held for one that left, for good: nobody waited for it."""
    with contextlib.closing(year := year_of(tmp_path)):
        peer, others = year.names[2], year.names[:2]

        def blocks(blocked):
            for name in others:
                year.stop(name)
                block(year.place / name, peer, NOW + year.clock.now, blocked=blocked)

        for day in range(120):
            if day in (4, 7):
                blocks(day == 4)
            year.night()
            if day == 5:
                peers = year.opened(others[0]).site.state.peers
                assert (peers.blocked, peers.left) == ((peer,), ())
                assert peer in peers.away
            if all(ROUNDS - 1 in year.records(name) for name in year.names):
                break
        peers = year.opened(others[0]).site.state.peers
        assert peer not in (*peers.shut, *peers.away)
        assert peer_of(year, peer)[1].presence is PeerLife.HERE
        assert all(peer in year.records(name)[ROUNDS - 1].opened for name in others)
        assert day < 2 * DEADLINE_DAYS
        learned = [record for record in year.records(peer).values() if record.opened]
        assert len(learned) == ROUNDS - 1  # it missed the round in which it was blocked
        with year.opened(peer).store.view() as tx:
            status = site_status(tx, year.opened(peer).project, peer)
        assert (status.rounds_over, status.seconds_left) == (ROUNDS, 0.0)


def test_a_peer_that_left_is_not_waited_for_once_a_block_is_taken_back(tmp_path):
    """It was, as if it had never left: the sites went on after a deadline only."""
    needed = {}
    for how in ("left", "blocked and taken back", "recovered"):
        (place := tmp_path / how[:2]).mkdir()
        with contextlib.closing(year := year_of(place)):
            peer, others = year.names[2], year.names[:2]
            year.night()
            year.leave(peer)
            year.night()  # its word is read; a block throws away what was not
            for name in others:
                if how == "left":
                    continue
                year.stop(name)
                now = NOW + year.clock.now
                if how == "recovered":
                    recover(year.place / name, year.secret, now)
                else:
                    for blocked in (True, False):
                        block(year.place / name, peer, now, blocked=blocked)
            needed[how] = 0
            while not all(ROUNDS - 1 in year.records(name) for name in others):
                year.night()
                needed[how] += 1
                assert needed[how] < 120, "the rounds do not end"
            assert peer_of(year, peer)[1].presence is PeerLife.LEFT
    assert needed["blocked and taken back"] <= needed["left"] + 2, needed
    assert needed["recovered"] < DEADLINE_DAYS, needed


def test_a_peer_that_claimed_all_epochs_of_its_pair_stays_blocked(tmp_path):
    """The site would stop at once, by what that peer can show of the last one."""
    with contextlib.closing(year := year_of(tmp_path)):
        own, peer = year.names[0], year.names[2]
        year.night()
        with year.opened(own).store.transaction() as tx:
            write_peer(tx, peer, read_peer(tx, peer).plus(epoch=LAST_EPOCH, blocked=True))
        year.stop(own)
        with pytest.raises(ConfigError, match="claimed all epochs"):
            block(year.place / own, peer, NOW, blocked=False)
        year.start(own)
        assert peer_of(year, peer)[0].blocked


def blocked_as_before(year, name, peer):
    """What version 0.2.0 wrote: it kept whom it blocked among those that left."""
    with year.opened(name).store.transaction() as tx:
        write_peer(tx, peer, read_peer(tx, peer).plus(blocked=True))
        state = state_in(tx)
        keep_state(tx, replace(state, peers=state.peers.leaves(peer)))
    year.stop(name)


@pytest.mark.parametrize("started", [False, True])
def test_a_block_of_an_earlier_version_is_taken_back(tmp_path, started):
    """The peer stayed among those that left, for good: no message of it was waited for, ever."""
    with contextlib.closing(year := year_of(tmp_path)):
        peer, others = year.names[2], year.names[:2]
        for day in range(120):
            if day == 4:
                for name in others:
                    blocked_as_before(year, name, peer)
                    if started:  # by this version, before it is taken back
                        year.start(name)
                        year.opened(name).site.turn()
                        year.stop(name)
                    block(year.place / name, peer, NOW + year.clock.now, blocked=False)
            year.night()
            if all(len(year.records(name)) == ROUNDS for name in year.names):
                break
        peers = year.opened(others[0]).site.state.peers
        assert peer not in (*peers.shut, *peers.away)
        assert all(peer in year.records(name)[ROUNDS - 1].opened for name in others)
        assert day < 2 * DEADLINE_DAYS


def test_what_a_peer_said_before_its_block_is_thrown_away(tmp_path):
    """It lay in the inbox, and was handled and answered once the site was started again."""
    with contextlib.closing(year := year_of(tmp_path)):
        own, peer = year.names[0], year.names[2]
        year.night()
        said, heard = year.opened(peer).post, year.opened(own).post
        while (parcel := said.pending(own, 0.0)) is not None:
            said.settle(own, heard.receive(parcel))
        with year.opened(own).store.view() as tx:
            before = len([item for item in tx.inbox.pending() if item.stream.startswith(peer)])
        known = year.opened(own).site.machine.memory.peers[peer]
        assert before
        year.stop(own)
        block(year.place / own, peer, NOW + year.clock.now)
        year.start(own)
        opened = year.opened(own)
        with opened.store.view() as tx:
            assert not [item for item in tx.inbox.pending() if item.stream.startswith(peer)]
            rows = [row.facts for row in tx.audit.rows() if row.kind == "blocked"]
        assert rows == [{"peer": peer, "thrown_away": before}]
        while opened.site.turn():
            pass
        now = opened.site.machine.memory.peers[peer]
        assert (now.serving, now.introduction) == (known.serving, known.introduction)
