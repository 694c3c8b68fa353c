"""Sites that are recovered, with a backup or without, and sites whose project has ended."""

import contextlib
import time

import pytest

from securefair.errors import ConfigError, SecureFairError
from securefair.model.stored import to_bytes
from securefair.prediction import load_model
from securefair.sites.operator.lifecycle import leave, refit
from securefair.sites.rehearsal.nights import DAY
from securefair.sites.rehearsal.year import ROUND_DAYS
from securefair.sites.site.notes import noted_in
from securefair.sites.site.recovery import recover
from securefair.sites.site.running import export_site
from securefair.sites.site.starting import open_site
from support.years import NOW, small_hospitals, small_year

pytestmark = pytest.mark.slow  # whole rounds of several sites


def year_of(place, sites, rounds, *, algorithm="cycle", **wishes):
    data = small_hospitals(sites)
    return small_year(place, data, algorithm, rounds, round_days=ROUND_DAYS, **wishes)


def recover_in(year, name, ahead=0.0):
    year.stop(name)
    recover(year.place / name, year.secret, year.clock.began + year.clock.now + ahead)
    year.start(name)


def events_of(year, name, event):
    with year.opened(name).store.view() as tx:
        return [facts for kind, facts in noted_in(tx) if kind == event]


@pytest.mark.parametrize("backup", [True, False], ids=["backup", "lost"])
@pytest.mark.parametrize(("sites", "recovered"), [(2, 1), (2, 2), (3, 2)])
def test_recovered_sites_stop_nobody(tmp_path, sites, recovered, backup):
    """Whoever is recovered says so at its start; the others tell it how far they are."""
    year = year_of(tmp_path, sites, 6)
    with contextlib.closing(year):
        back = year.names[:recovered]
        for day in range(60):
            if day == 4 and backup:
                for name in back:
                    year.back_up(name)
            if day == 6:
                for name in back:
                    if backup:
                        year.put_back(name)
                    else:
                        recover_in(year, name)
            year.night()
        for name in year.names:
            site = year.opened(name).site
            assert site.machine.memory.round == 5
            assert site.finished
            assert not site.state.missing


def test_a_site_that_is_behind_comes_into_step_again(tmp_path):
    """Every round of it came one deadline late: it waited where the others did not."""
    year = year_of(tmp_path, 4, 9, algorithm="vpdl")
    with contextlib.closing(year):
        back, others = year.names[:2], year.names[2:]
        for day in range(34):
            for name in back:
                if day == 6:
                    year.back_up(name)
                if day == 10:
                    year.put_back(name)
            year.night()
        for name in others:
            record = year.records(name)[8]
            assert set(record.opened) == {*others} - {name}
            assert set(record.declined) == set(back)
            assert not record.missed
        for name in back:
            assert set(year.records(name)[8].opened) == set(others)


@pytest.mark.parametrize("algorithm", ["cycle", "cycle-gossip"])
def test_whoever_asks_again_after_a_recovery_is_not_blamed(tmp_path, algorithm):
    year = year_of(tmp_path, 3, 8, algorithm=algorithm)
    with contextlib.closing(year):
        name, *others = year.names
        for day in range(20):
            if day == 3:
                year.back_up(name)
            if day == 5:
                year.put_back(name)
            year.night()
        assert not [fact for one in others for fact in events_of(year, one, "blame")]
        assert year.spent_twice() == 0


@pytest.mark.parametrize("ahead", [0, 200 * DAY], ids=["right", "ahead"])
def test_keys_of_a_second_recovery_are_newer_whatever_the_clock_was(tmp_path, ahead):
    year = year_of(tmp_path, 3, 12)
    with contextlib.closing(year):
        name, *others = year.names
        for day in range(36):
            if day in (5, 14):
                recover_in(year, name, ahead if day == 5 else 0.0)
            year.night()
        with year.opened(name).store.view() as tx:
            known = year.opened(others[0]).site.machine.memory.peers[name].introduction.key_epoch
            assert known >= (NOW + 5 * DAY + ahead) // 60
            assert not [facts for kind, facts in noted_in(tx) if kind == "blame"]
        forced = year.records(name)[10]  # everybody is asked, after both
        assert set(forced.opened) == set(others)
        assert not [fact for one in others for fact in events_of(year, one, "blame")]


def test_a_backup_may_be_older_than_a_recovery_by_a_clock_that_was_ahead(tmp_path):
    """Its peers show what it has signed and forgot: the next recovery begins above that, and its
    keys are newer than those that they have. It was told to recover, to no avail, for 200 days."""
    year = year_of(tmp_path, 3, 8)
    with contextlib.closing(year):
        name, *others = year.names
        for day in range(26):
            if day == 3:
                year.back_up(name)
            if day == 5:
                recover_in(year, name, 200 * DAY)
            if day == 12:
                year.put_back(name)
                with pytest.raises(SecureFairError, match="run `securefair site recover`"):
                    year.night()
                recover_in(year, name)
            year.night()
        assert len(year.records(others[0])) == 8
        assert year.spent_twice() == 0
        for one in others:
            known = year.opened(one).site.machine.memory.peers[name].introduction
            assert known.key_epoch > (NOW + 205 * DAY) // 60
            assert not events_of(year, one, "blame")
        assert set(year.records(name)[5].opened) == set(others)  # everybody is asked


def test_nobody_recovers_by_a_clock_outside_the_project(tmp_path):
    year = year_of(tmp_path, 2, 2)
    with contextlib.closing(year), pytest.raises(ConfigError, match="has not begun"):
        recover(year.place / year.names[0], year.secret, NOW - 10 * DAY)


def test_what_a_site_has_learned_can_be_had_after_the_end(tmp_path):
    began = time.time() - 200 * DAY
    year = year_of(tmp_path, 2, 1, algorithm="transfer", now=began, days=100)
    with contextlib.closing(year):
        for _ in range(12):
            year.night()
    (name, other), secret = year.names, year.secret
    own = export_site(tmp_path / name, secret, tmp_path / "out")
    assert own.model.exists()
    without = refit(tmp_path / name, secret, other, tmp_path / "without")
    kept, refitted = (to_bytes(load_model(one).function) for one in (own.model, without))
    assert kept != refitted
    with (
        pytest.raises(ConfigError, match=r"the project has ended.*securefair site export"),
        open_site(tmp_path / name, secret),
    ):
        pass
    assert leave(tmp_path / name, secret, seconds=0.0) == {year.names[1]: False}
