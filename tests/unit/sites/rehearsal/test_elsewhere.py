"""Processes of sites under another interpreter."""

import contextlib
import functools
import sys
from pathlib import Path

import msgspec
import pytest

import securefair
from securefair.collaboration.kinds import REGISTERED
from securefair.errors import ConfigError, SecureFairError
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.sites.rehearsal import days
from securefair.sites.rehearsal.elsewhere import (
    PREVIOUS,
    ElsewhereProcess,
    ElsewhereSite,
    check_kind,
    installed,
)
from support.years import small_hospitals, small_year

HERE = Path(sys.executable)


@pytest.fixture(scope="module")
def asked():
    """What an interpreter says, which is begun for that once: it says the same every time."""
    return functools.cache(installed)


def test_an_interpreter_says_what_it_speaks(asked):
    here = asked(HERE)
    assert (here.version, here.protocol) == (securefair.__version__, PROTOCOL_VERSION)
    assert set(here.kinds) == set(REGISTERED)


def test_a_kind_that_the_other_version_lacks_is_refused_before_anything_starts(asked):
    there = msgspec.structs.replace(asked(HERE), kinds=("one", "other"))
    check_kind(there, "other")
    with pytest.raises(ConfigError, match="no such kind"):
        check_kind(there, "third")


def test_an_interpreter_may_be_named_from_the_folder_one_is_in(monkeypatch):
    monkeypatch.chdir(HERE.parent)
    assert installed(Path(HERE.name)).protocol == PROTOCOL_VERSION


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
def test_one_without_securefair_is_refused_in_a_line(python):
    with pytest.raises(ConfigError, match="has no securefair") as refused:
        installed(Path(python))
    assert "\n" not in refused.value.problem


def test_a_process_is_started_killed_and_waited_for(tmp_path):
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n", encoding="ascii")
    program.chmod(0o700)
    process = ElsewhereProcess(program, tmp_path, tmp_path / "passphrase", 0, 0.0)
    process.start()
    assert process.exitcode is None
    process.kill()
    process.join()
    assert process.exitcode == -9


@pytest.mark.slow  # a process that loads all
def test_a_site_that_cannot_be_opened_elsewhere_says_why(tmp_path):
    (tmp_path / "passphrase").write_text("p", encoding="ascii")
    (tmp_path / "passphrase").chmod(0o600)
    with pytest.raises(SecureFairError, match="there is no site"):
        ElsewhereSite(HERE, tmp_path / "north", tmp_path / "passphrase", lambda: (1e9, 0.0))


@pytest.mark.slow  # days of three sites
@pytest.mark.parametrize(
    "python",
    [pytest.param(PREVIOUS, id="before") if PREVIOUS.exists() else pytest.param(HERE, id="this")],
)
def test_sites_are_upgraded_in_the_midst_of_a_round(tmp_path, monkeypatch, asked, python):
    """Of three, two begin in processes of the release before, which ends rounds of its own; each
    goes on here with the store that it left, while it has asked and was not answered.

    Where that release is not there (`make previous`), this one stands for it.
    """
    monkeypatch.setattr(days, "installed", asked)
    there, made = asked(python), []
    data = small_hospitals(3)
    year = small_year(tmp_path, data, "vpdl", 4, round_days=3, days=60, protocol=there.protocol)
    first, second, other = year.names
    year.begin_elsewhere((first, second), python)
    with contextlib.closing(year):
        for day in range(14):
            for name, due in ((first, 4), (second, 7)):
                if day == due:
                    assert year.in_a_round(name)
                    made.append(year.upgrade(name))
            if day == 6:
                year.stop(second)  # SIGKILL, and begun again in the version before
            year.night()
        assert [one.version for one in made] == [there.version] * 2
        assert made[0].open_round < made[1].open_round
        for one in made:
            assert one.rounds > 0
            assert set(one.asked) == set(year.names) - {one.site}
        for name in year.names:
            records = year.records(name)
            assert sorted(records) == [0, 1, 2, 3]
            assert all(set(one.opened) == set(year.names) - {name} for one in records.values())
        assert year.spent_twice() == 0
        assert not year.elsewhere
        assert year.payments.counted[second, other, 0, "answer"] == 1  # before its upgrade
