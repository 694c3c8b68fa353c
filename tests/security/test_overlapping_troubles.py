"""Two troubles at once, and clocks that jump, at a site that needs a number of peers.

One trouble alone was mended before: an outage burns no rounds, who comes back is asked, a block in
the midst of a round holds it, an unread farewell outlives a block. Here another one meets each.
"""

import contextlib

import pytest

from securefair.errors import StorageError
from securefair.protocol.states import RoundState
from securefair.sites.post.streams import stream_of
from securefair.sites.rehearsal.nights import DAY
from securefair.sites.site.folder import OVER
from securefair.sites.site.notes import BLAME, noted_in
from securefair.sites.site.notices import Notice, notice_frame
from securefair.sites.site.recovery import block_in, recover, recover_store, take_back_in
from securefair.storage import Keystore, Store
from support.town import NOW, KilledError, towns
from support.years import small_hospitals, small_year

pytestmark = pytest.mark.slow  # whole rounds


@pytest.fixture
def make_town(tmp_path):
    with towns(tmp_path) as make:
        yield make


def changed(town, name, change, *facts):
    """What an operator does to a site that is stopped."""
    town.stop(name)
    with Store.open(town.folder / name) as store, store.transaction() as tx:
        change(tx, *facts)
    town.start(name)


def alone(town, names, seconds):
    """Some sites take turns, and nobody else."""
    until = town.now + seconds
    while town.now < until:
        moved = [town.sites[name].turn() | town.walk(name) for name in names]
        town.now += 0.0 if any(moved) else 5.0


def record_of(town, name, number):
    return next((one for one in town.records(name) if one.round == number), None)


@pytest.mark.parametrize("algorithm", ["vpdl", "cycle"])
def test_a_block_taken_back_in_a_round_that_another_leaves_is_asked_again(make_town, algorithm):
    """West is blocked and taken back, then south goes: west counted as there, and the round ended
    without a word of anybody, as its question had been given up with the block."""
    town = make_town(3, algorithm=algorithm, rounds=6, fewest=1)
    own, goes, back = town.names
    town.within_round(own, 3)
    for change in (block_in, take_back_in):
        changed(town, own, change, back, NOW + town.now)
        while town.sites[own].turn():
            pass
    town.stop(goes)
    while record_of(town, own, 3) is None and town.now < 100_000:
        alone(town, (own, back), 50.0)
    record = record_of(town, own, 3)
    assert back in {*record.opened, *record.declined}


def test_a_farewell_that_nobody_has_read_outlives_a_recovery(make_town):
    """It was thrown away with all that a peer had said: the site waited for it to the end."""
    town = make_town(3, algorithm="vpdl", rounds=6, fewest=2)
    own, leaves, stays = town.names
    town.until(own, 2)
    post, farewell = town.posts[leaves], notice_frame(Notice(2, leaves=True))
    with town.stores[leaves].transaction() as tx:
        for peer in (own, stays):
            post.send(tx, peer, farewell, 2)
    post.announce()
    for peer in (own, stays):
        while (parcel := post.pending(peer, 0)) is not None:
            post.settle(peer, town.posts[peer].receive(parcel))  # taken; no site has a turn
    town.stop(leaves)
    with town.stores[own].view() as tx:
        assert list(tx.inbox.pending(stream_of(leaves, 0)))
    del town.keys[own]
    now = NOW + int(town.now)
    changed(town, own, recover_store, (leaves, stays), now, 6, NOW + 10**6)
    assert town.sites[own].state.peers.left == (leaves,)
    town.live()
    assert town.sites[own].finished
    assert town.records(stays)[-1].round == 5


@pytest.mark.parametrize("jump", [-2000 * DAY, -DAY, DAY, 2000 * DAY])
def test_a_clock_that_is_set_in_an_outage_burns_no_rounds(tmp_path, jump):
    """Past the project's end every deadline counts: the site ended all its rounds alone."""
    year = small_year(tmp_path, small_hospitals(3), "vpdl", 4, round_days=1)
    with contextlib.closing(year):
        own, *others = year.names
        while len(year.records(own)) < 2:
            year.night()
        before = set(year.records(own))
        site = year.opened(own).site
        year.ahead = {own: jump}  # while it runs
        for _ in range(40):
            year.night(down=others)
        assert set(year.records(own)) - before <= {max(before) + 1}  # its answers may be there
        assert set(site.state.missing) == set(others)
        assert site.machine.memory.state is RoundState.EXCHANGING or not site.finished
        for _ in range(30):
            year.night()
        assert site.finished
        assert set(year.records(own)) == set(range(4))


@pytest.mark.parametrize("write", ["put", "delete"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_recovery_that_is_killed_between_two_writes(tmp_path, monkeypatch, write, when):
    """Killed as its old keys were gone and its store was not new yet, the site went on under keys
    that its peers did not have: it opened no answer any more, and blamed honest peers for that."""
    year = small_year(tmp_path, small_hospitals(3), "vpdl", 3, "rns", round_days=20)
    with contextlib.closing(year):
        own, *others = year.names
        while not year.records(own):
            year.night()
        year.stop(own)
        write_of = getattr(Keystore, write)

        def killed(keys, *arguments, **options):
            if when == "after":
                write_of(keys, *arguments, **options)
            raise KilledError

        with monkeypatch.context() as patch, contextlib.suppress(KilledError):
            patch.setattr(Keystore, write, killed)
            recover(year.place / own, year.secret, NOW + year.clock.now)
        if (write, when) == ("delete", "after"):
            with pytest.raises(StorageError, match="site recover"):
                year.start(own)
        (year.place / own / OVER).touch()  # as of a site that was through with all rounds
        recover(year.place / own, year.secret, NOW + year.clock.now)
        assert not (year.place / own / OVER).exists()
        for _ in range(20):
            year.night()
        assert year.opened(own).site.finished
        last = year.records(own)[2]
        assert set(last.opened) == set(others)
        for name in year.names:
            with year.opened(name).store.view() as tx:
                assert not [facts for event, facts in noted_in(tx) if event == BLAME]
