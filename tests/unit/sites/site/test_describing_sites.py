"""Sites that describe their patients together, whose processes may end."""

import random

import msgspec
import pytest

from securefair.collaboration.told import ToldFile
from securefair.errors import ConfigError, LedgerError
from securefair.sites.site.records import stored_pieces


@pytest.fixture
def town(make_town):
    return make_town(3, algorithm="table-one")


def tables(town):
    return [town.hosts[name].description() for name in town.names]


def test_all_find_the_same_and_nobody_learns(town):
    models = [town.hosts[name].model() for name in town.names]
    town.live()
    north, *others = tables(town)
    for one in others:
        assert [row.together for row in one.rows] == pytest.approx(
            [row.together for row in north.rows], abs=1e-6, nan_ok=True
        )
        assert one.patients == north.patients == sum(len(town.data[n].rows) for n in town.names)
    assert len({next(iter(one.by_hospital)) for one in tables(town)}) == 3
    for name, before in zip(town.names, models, strict=True):
        x = town.data[name].test.features
        assert (town.hosts[name].model().logits(x) == before.logits(x)).all()
        assert town.numbers(name) == 2 * north.numbers


def test_a_site_that_was_killed_finds_the_same(town):
    town.live()
    before = tables(town)
    for name in town.names:
        town.kill(name)
    assert tables(town) == before


def test_from_the_store_alone_a_table_is_read(town):
    town.live()
    name = town.names[0]
    with town.stores[name].view() as tx:
        pieces = stored_pieces(tx)
    host = town.kind.recalled(town.collaboration, town.data[name], seed=3)
    assert host.description(pieces) == town.hosts[name].description()
    assert host.description() is None


@pytest.mark.slow  # whole sites, killed
@pytest.mark.parametrize("seed", range(3))
def test_processes_that_end_at_any_commit_change_nothing(town, make_town, seed):
    town.live()
    rng = random.Random(seed)
    other = make_town(3, algorithm="table-one", folder="killed")
    dies = lambda: rng.choice(["", "", "", "", "before", "after"])  # noqa: E731
    other.kills.update(dict.fromkeys(other.names, dies))
    for name in other.names:
        other.kill(name)
    other.live()
    assert other.restarts > len(other.names)
    for one, same in zip(tables(town), tables(other), strict=True):
        assert one.patients == same.patients
        assert [row.together for row in one.rows] == pytest.approx(
            [row.together for row in same.rows], abs=1e-6, nan_ok=True
        )
    assert [town.numbers(name) for name in town.names] == [
        other.numbers(name) for name in other.names
    ]


def test_what_another_project_told_meanwhile_is_heard_before_the_second_round(town, tmp_path):
    town.live()
    host = town.hosts[town.names[0]]
    host._ledger = ToldFile(tmp_path / "described.json", host.name)
    host.begin(1)  # noted
    other = ToldFile(tmp_path / "described.json", host.name, again=True)
    other.note(msgspec.structs.replace(host.telling, patients="f" * 64))
    with pytest.raises(LedgerError, match="of other patients"):
        host.begin(1)


def test_other_patients_are_another_project(town):
    own = town.data[town.names[0]]
    with pytest.raises(ConfigError, match="patients that it began with"):
        town.hosts[town.names[0]].check_renewal(own)
