"""What a site tells monitoring, whatever happened to its process."""

from types import SimpleNamespace

import msgspec
import pytest

from securefair.report.presence import SiteLife
from securefair.sites.operator.metrics import metrics
from securefair.sites.post.peers import read_peer, write_peer
from securefair.sites.rehearsal.rehearsal import hospitals, make_places, project_between
from securefair.sites.site import health as module
from securefair.sites.site import status as status_module
from securefair.sites.site import warnings
from securefair.sites.site.attendance import Attendance
from securefair.sites.site.folder import OVER, STORE, read_settings
from securefair.sites.site.health import Health, Heart, LineDue, health_of
from securefair.sites.site.records import LEFT, SiteState, keep_state
from securefair.sites.site.status import sentences, site_status, status_of
from securefair.sites.site.warnings import DAY, SILENT_AFTER, STUCK_AFTER
from securefair.storage import Store

NOW = 1_800_000_000

LAST = SimpleNamespace(round=0, measured={}, opened=(), doubted=())
"""What is looked at of the record of a round."""


@pytest.fixture
def site(tmp_path):
    data = hospitals(3)
    project, identities = project_between(data, "transfer", 1, "clear", now=NOW, days=100)
    make_places(tmp_path, data, project, identities, "local")
    return tmp_path / data[0].name, project


def health(site, *, runs=True, later=0.0, change=None, settings=None):
    folder, project = site
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        if change is not None:
            change(tx)
        found = settings or read_settings(folder)
        return health_of(folder, tx, project, found, runs=runs, now=NOW + later)


def test_a_site_runs_is_stopped_is_over_or_left(site, monkeypatch):
    assert health(site) == Health(state=SiteLife.RUNNING)
    assert (health(site).code, health(site, runs=False).code) == (0, 2)
    assert health(site, runs=False).state is SiteLife.STOPPED
    (site[0] / OVER).touch()
    older = health(site, runs=False)  # a copy of before was put back
    assert (older.state, "an older copy was put back" in older.summary) == (SiteLife.STOPPED, True)
    monkeypatch.setattr(module, "stored_records", lambda _: [LAST])
    assert (health(site, runs=False).state, health(site, runs=False).code) == (SiteLife.OVER, 0)
    left = health(site, runs=False, change=lambda tx: tx.memory.put(LEFT, b"2027"))
    assert (left.state, left.code) == (SiteLife.LEFT, 0)


def test_a_site_without_a_beat_is_stuck_and_one_that_computes_is_not(site):
    heart = Heart(site[0])
    heart.beat(working=False, now=NOW)
    heart.beat(working=False, now=NOW + 1)  # too soon to be written
    assert health(site, later=500.0).state is SiteLife.RUNNING
    stuck = health(site, later=700.0)
    assert (stuck.state, stuck.code) == (SiteLife.STUCK, 2)
    assert stuck.summary.startswith("stuck since 2027")
    heart.beat(working=True, now=NOW + 2)
    assert health(site, later=3 * 3600.0).state is SiteLife.RUNNING


def test_a_beat_of_before_an_outage_makes_no_start_stuck(site, monkeypatch):
    Heart(site[0]).beat(working=False, now=NOW)
    assert health(site, later=3 * DAY).state is SiteLife.STUCK
    monkeypatch.setattr(module, "held_since", lambda _: NOW + 3 * DAY - 700.0)
    assert health(site, later=3 * DAY).state is SiteLife.RUNNING
    assert health(site, later=4 * DAY).state is SiteLife.STUCK


def test_it_says_for_whom_it_waits_and_since_when(site):
    waits = SiteState(missing=("a", "b"), since=float(NOW))
    found = health(site, change=lambda tx: keep_state(tx, waits))
    assert found.code == 1
    assert found.summary.startswith("waiting for a, b since 2027-01-15")
    assert "a round needs 1 of 2 peers" in found.summary


def test_a_site_that_has_blocked_everybody_says_what_it_waits_for(site):
    found = health(site, change=lambda tx: keep_state(tx, SiteState(since=float(NOW))))
    assert (found.state, found.code) == (SiteLife.WAITING, 1)
    assert "waiting since 2027-01-15" in found.summary
    assert "it has blocked every peer" in found.summary


def test_after_its_last_round_it_is_told_why_it_waits_and_what_would_stop_it(site, monkeypatch):
    for room in (module, warnings):
        monkeypatch.setattr(room, "stored_records", lambda _: [LAST], raising=False)
    waits = SiteState(missing=("a",), since=float(NOW))
    found = health(site, later=75 * DAY, change=lambda tx: keep_state(tx, waits))
    assert (found.state, found.code) == (SiteLife.WAITING, 1)
    assert found.warnings[0].startswith("its own rounds are over")
    assert found.warnings[1].startswith("the project expires in 25 days")


def test_no_seconds_are_left_after_the_last_round(site, monkeypatch):
    """Monitoring read what was left of the last wait, for good."""
    folder, project = site
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        keep_state(tx, SiteState(left=17.6))
        assert site_status(tx, project, read_settings(folder).name).seconds_left == 17.6
        monkeypatch.setattr(status_module, "stored_records", lambda _: [LAST])
        assert site_status(tx, project, read_settings(folder).name).seconds_left == 0


def test_no_deadline_is_told_of_a_site_that_runs_none(site, monkeypatch):
    """One that had left had a round with "at most 1 min 47 s left"."""
    folder, _ = site
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        keep_state(tx, SiteState(left=107.0))
    assert status_of(folder, NOW).seconds_left == 0.0
    assert "left; then it goes on" not in "\n".join(sentences(status_of(folder, NOW)))
    monkeypatch.setattr(status_module, "running_process", lambda _: 1)
    assert status_of(folder, NOW).seconds_left == 107.0
    assert "at most 1\u00a0min 47\u00a0s left; then" in "\n".join(sentences(status_of(folder, NOW)))


def test_nothing_is_under_way_to_who_left_or_is_blocked(site):
    folder, project = site
    left, blocked = (card.name for card in project.cards[1:])
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        for peer in (left, blocked):
            tx.outbox.add(f"{peer} 0", 0, b"envelope")
        own = read_settings(folder).name
        assert [peer.unconfirmed for peer in site_status(tx, project, own).peers] == [1, 1]
        keep_state(tx, SiteState(peers=Attendance().leaves(left)))
        write_peer(tx, blocked, read_peer(tx, blocked).plus(blocked=True))
        assert [peer.unconfirmed for peer in site_status(tx, project, own).peers] == [0, 0]


def test_what_will_stop_it_is_told_a_month_before(site):
    assert health(site, later=69 * DAY).warnings == ()
    [soon] = health(site, later=75 * DAY).warnings
    assert soon.startswith("the project expires in 25 days")
    [late] = health(site, later=101 * DAY).warnings
    assert "has expired" in late


def test_a_share_and_samples_that_are_not_there_are_told(site):
    settings = read_settings(site[0])
    courier = msgspec.structs.replace(
        settings.courier, kind="folder", folder=str(site[0] / "unmounted")
    )
    settings = msgspec.structs.replace(settings, courier=courier, data="/nowhere.csv")
    share, data = health(site, settings=settings).warnings
    assert share.startswith("the shared folder is not there")
    assert data.startswith("the file of samples cannot be read")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"turned_back": True}, "its store was turned back"),
        ({"forgotten": True}, "it goes on after envelopes"),
        ({"ahead": 3 * 86_400}, "its clock, or this one, is wrong"),
        ({"fault": "its audit log has 3 rows, and had 9"}, "its audit log has 3 rows"),
    ],
    ids=["turned back", "forgotten", "clock", "fault"],
)
def test_faults_of_a_peer_reach_monitoring(site, fault, said):
    folder, project = site
    peer = project.cards[1].name

    def change(tx):
        write_peer(tx, peer, read_peer(tx, peer).plus(heard=NOW, **fault))

    found = health(site, change=change)
    [warning] = found.warnings
    assert warning.startswith(f"{peer}: {said}")
    assert found.code == 1
    with Store.open(folder / STORE) as store, store.view() as tx:
        status = site_status(tx, project, read_settings(folder).name)
    status = msgspec.structs.replace(status, health=found, summary=found.summary, code=found.code)
    assert f"state: running; {warning}" in sentences(status)
    assert "securefair_warnings 1\n" in metrics(status)
    assert "securefair_health 1\n" in metrics(status)

    def block(tx):
        write_peer(tx, peer, read_peer(tx, peer).plus(blocked=True))

    assert health(site, change=block).warnings == ()  # its operator knows


def test_a_peer_that_is_never_heard_of_is_told_some_hours_after_the_start(site):
    _, project = site
    heard, never = (card.name for card in project.cards[1:])

    def begin(tx):
        write_peer(tx, heard, read_peer(tx, heard).plus(heard=NOW, confirmed=1))
        keep_state(tx, SiteState(began=float(NOW)))

    assert health(site, change=begin).warnings == ()
    found = health(site, later=SILENT_AFTER + 1)
    assert found.warnings == (f"never heard of since 2027-01-15 08:00 UTC: {never}",)
    assert found.code == 1


def test_a_courier_that_has_never_worked_since_the_start_is_told(site):
    _, project = site

    def begin(tx):
        for card in project.cards[1:]:
            tx.outbox.add(f"{card.name} 0", 0, b"envelope")
        keep_state(tx, SiteState(began=float(NOW)))

    assert health(site, change=begin).warnings == ()
    [silent] = health(site, later=SILENT_AFTER + 1).warnings
    assert "look at the courier" in silent


def test_a_relay_that_never_comes_to_the_door_is_told_in_minutes(site):
    settings = read_settings(site[0])
    courier = msgspec.structs.replace(settings.courier, kind="flare", doors={})
    settings = msgspec.structs.replace(settings, courier=courier)
    heart = Heart(site[0])
    heart.beat(working=False, now=NOW + 60.0, unvisited=60.0)
    assert health(site, settings=settings, later=60.0).warnings == ()
    heart.beat(working=False, now=NOW + STUCK_AFTER + 60, unvisited=STUCK_AFTER + 60)
    [absent] = health(site, settings=settings, later=STUCK_AFTER + 60).warnings
    assert absent.startswith("no courier has been at this site's door for 11 minutes")
    assert health(site, later=STUCK_AFTER + 60).warnings == ()  # another goes by itself
    stopped = health(site, settings=settings, later=STUCK_AFTER + 60, runs=False)
    assert stopped.warnings == ()


def test_a_share_that_takes_nothing_is_told_at_once_while_the_site_runs(site):
    heart = Heart(site[0])
    heart.beat(NOW, working=False)
    assert health(site).warnings == ()
    heart.beat(NOW + 1, 0.0, "the shared folder cannot be written", working=False)
    found = health(site)
    assert (found.code, found.warnings) == (1, ("the shared folder cannot be written",))
    assert found.summary == "running; the shared folder cannot be written"
    assert health(site, runs=False).warnings == ()
    heart.beat(NOW + 2, working=False)
    assert health(site).code == 0


def test_silence_of_everybody_is_the_couriers(site):
    _, project = site

    def heard_once(tx):
        for card in project.cards[1:]:
            write_peer(tx, card.name, read_peer(tx, card.name).plus(heard=NOW))
            tx.outbox.add(f"{card.name} 0", 0, b"envelope")

    assert health(site, change=heard_once).warnings == ()
    [silent] = health(site, later=SILENT_AFTER + 1).warnings
    assert "look at the courier" in silent


def test_the_log_has_a_line_as_waiting_or_a_hindrance_begins_and_ends_and_every_hour():
    due = LineDue(0.0, now=0.0)
    asked = [(0.0, 60.0), (9.0, 61.0), (9.0, 62.0), (9.0, 3661.0), (9.0, 3662.0), (0.0, 3663.0)]
    assert [due(since, now) for since, now in asked] == [False, True, False, True, False, True]
    assert [due(0.0, 3664.0, why) for why in ("full", "full", "")] == [True, False, True]


def test_one_day_is_no_days(site):
    (warning, *_) = health(site, later=99 * 86_400.0).warnings
    assert "expires in 1 day (" in warning
