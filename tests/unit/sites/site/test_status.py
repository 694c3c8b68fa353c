import pytest

from securefair.report.presence import PeerLife, SiteLife
from securefair.sites.post.peers import read_peer, write_peer
from securefair.sites.rehearsal.rehearsal import hospitals, make_places, project_between
from securefair.sites.site import status as module
from securefair.sites.site.folder import STORE
from securefair.sites.site.health import Health, Heart
from securefair.sites.site.status import NEVER, PeerStatus, SiteStatus, sentences, status_of
from securefair.storage import Store

NOW = 1_800_000_000


def text(
    *,
    presence=PeerLife.HERE,
    heard="2026-01-01 10:00 UTC",
    rounds_over=1,
    left=5400.0,
    ready=1,
    health=None,
):
    peer = PeerStatus(
        name="south",
        presence=presence,
        ready=ready,
        heard=heard,
        unconfirmed=0,
        numbers=16,
        bytes_out=10,
        bytes_in=10,
        fault="",
    )
    status = SiteStatus(
        name="north",
        project="heart",
        rounds_over=rounds_over,
        rounds=2,
        seconds_left=left,
        peers=(peer,),
        refused={},
        student_limit=32,
        teacher_limit=32,
        accuracy=None,
        audit_rows=3,
        audit_head="00" * 32,
        health=health,
        summary="" if health is None else health.summary,
    )
    return "\n".join(sentences(status))


def test_a_peer_is_here_away_or_not_heard_of_yet():
    assert "south: here" in text()
    assert "south: away" in text(presence=PeerLife.AWAY)
    assert "south: never heard of, 16" in text(presence=PeerLife.UNHEARD, heard=NEVER)


def test_rounds_are_counted_from_one_and_numbers_against_their_limit():
    assert "south: here, ready for round 2, heard 2026" in text()
    assert "16 of 32 numbers disclosed to it, envelopes under way: 0" in text()
    assert "through with all rounds" in text(rounds_over=2, ready=2)


@pytest.mark.parametrize(
    ("after", "runs", "said"),
    [
        (9, True, ""),
        (12, True, "silent for 12 min"),
        (190, True, "silent for 3 h"),
        (190, False, ""),
    ],
)
def test_a_peer_that_is_silent_is_told_before_its_round_is_over(
    tmp_path, monkeypatch, after, runs, said
):
    """One that was killed stood there as "here, ready" until a deadline passed."""
    data = hospitals(2)
    project, identities = project_between(data, "vpdl", 3, "clear", now=NOW, days=100)
    make_places(tmp_path, data, project, identities, "local")
    folder, peer = tmp_path / data[0].name, data[1].name
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        write_peer(tx, peer, read_peer(tx, peer).plus(heard=NOW))
    Heart(folder).beat(working=False, now=NOW + 60.0 * after)
    monkeypatch.setattr(module, "running_process", lambda _: 1 if runs else None)
    monkeypatch.setattr("securefair.sites.site.health.held_since", lambda _: NOW)
    (line,) = [one for one in sentences(status_of(folder, NOW + 60.0 * after)) if peer in one]
    assert f"{peer}: here, ready for round 1, heard 2027" in line
    assert ("silent" in line) == bool(said)
    assert said in line


def test_it_says_how_long_a_round_is_waited_for():
    assert "round 2: at most 1\u00a0h 30\u00a0min left" in text()
    assert " left" not in text(rounds_over=2)
    assert " left" not in text(left=0.0)
    assert "at most 40\u00a0s left" in text(left=40.0)


def test_it_says_what_the_site_does():
    waits = Health(state=SiteLife.WAITING, since="2027-01-15 08:00 UTC", waiting_for=("south",))
    assert "state: waiting for south since 2027-01-15 08:00 UTC" in text(health=waits)
