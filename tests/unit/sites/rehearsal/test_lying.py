"""A site that lies for some days of a year, and is blocked for what the others' status says."""

import contextlib

import pytest

from securefair.errors import SecureFairError
from securefair.sites.rehearsal.lying import LyingSite, spoilt
from securefair.sites.rehearsal.playing import PlayingHere
from securefair.sites.site.health import health_of
from securefair.sites.site.notes import noted_in
from support.years import NOW, small_hospitals, small_year

ROUNDS = 5


def year_of(place, sites):
    return small_year(place, small_hospitals(sites), "vpdl", ROUNDS, round_days=3)


def test_a_spoilt_message_is_half_of_it_or_has_another_byte():
    frame = bytes(range(9))
    assert spoilt(frame, cut=True) == frame[:4]
    assert [a for a, b in zip(frame, spoilt(frame, cut=False), strict=True) if a != b] == [4]


@pytest.mark.slow  # whole rounds of five sites
def test_honest_sites_name_a_liar_block_it_and_end_their_rounds(tmp_path):
    with contextlib.closing(year := year_of(tmp_path, 5)):
        *honest, liar = year.names
        for day in range(32):
            if day == 3:
                year.lie(liar)
            if day == 8:
                wrong = [blames(year, name) for name in honest]
                year.block_liar(liar)
            year.night()
        assert all(set(peers) == {liar} for peers in wrong)
        assert [action for action in year.actions if "block" in action] == [
            f"day 8: {name}: site block {liar}" for name in honest
        ]
        for name in honest:
            records = year.records(name)
            assert sorted(records) == list(range(ROUNDS))
            others = set(honest) - {name}
            assert all(set(one.opened) - {liar} == others for one in records.values())
            assert liar not in records[ROUNDS - 1].opened
        assert year.finished() == ROUNDS
        assert year.spent_twice() == 0


@pytest.mark.slow  # a night of three sites
def test_nobody_is_blocked_of_whom_no_status_says_anything(tmp_path):
    with contextlib.closing(year := year_of(tmp_path, 3)):
        year.night()
        with pytest.raises(SecureFairError, match="names no liar"):
            year.block_liar(year.names[2])


@pytest.mark.slow  # whole rounds of four sites
def test_wrong_messages_in_honest_envelopes_are_told_as_well(tmp_path, monkeypatch):
    """They stood in the audit log alone: no status named who says what no honest site says."""
    monkeypatch.setattr(LyingSite, "lies", lambda *_: [])
    monkeypatch.setattr(LyingSite, "receive", PlayingHere.receive)
    with contextlib.closing(year := year_of(tmp_path, 4)):
        *honest, liar = year.names
        for day in range(9):
            if day == 3:
                year.lie(liar)
            year.night()
        for name in honest:
            assert any("no honest site says" in said for said in year.said_of(name, liar))
            assert blames(year, name)
            assert not any(year.said_of(name, other) for other in honest if other != name)
            opened = year.opened(name)
            with opened.store.view() as tx:
                about = (opened.project, opened.settings)
                health = health_of(
                    tmp_path / name, tx, *about, runs=False, now=NOW + year.clock.now
                )
            assert any(one.startswith(f"{liar}: ") for one in health.warnings)


def blames(year, name):
    with year.opened(name).store.view() as tx:
        return [facts["peer"] for event, facts in noted_in(tx) if event == "blame"]
