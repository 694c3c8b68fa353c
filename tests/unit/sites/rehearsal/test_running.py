"""Projects that releases before left under way: this version goes on with them, to their end.

`scripts/leave_projects.py` adds those of each release; those of before stay as they are, as long as
their protocol is spoken (`OLDEST_PROTOCOL`).
"""

import re
import tarfile
from pathlib import Path

import msgspec
import pytest

from securefair.errors import ConfigError
from securefair.protocol.messages import OLDEST_PROTOCOL, PROTOCOL_VERSION
from securefair.sites.operator.lifecycle import upgrade
from securefair.sites.post.peers import refusals
from securefair.sites.project.agreeing import check_agreement, rounds_of
from securefair.sites.project.project import load_project, parse_project
from securefair.sites.rehearsal.days import Year
from securefair.sites.rehearsal.nights import DAY, Clock
from securefair.sites.site.folder import PROJECT, read_settings, write_settings

VECTORS = Path(__file__).parents[3] / "vectors"
RUNNING = sorted(VECTORS.glob("running-*.tar.xz"))
NIGHTS = 2
"""That they lived before."""

DATA = {"data": "train", "test_data": "test"}


@pytest.fixture(params=RUNNING, ids=lambda path: path.name.removesuffix(".tar.xz"))
def place(request, tmp_path):
    """The folders of all sites, on another machine than they were made on."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "passphrase").chmod(0o600)
    for site in (path.parent for path in tmp_path.glob(f"*/{PROJECT}")):
        for private in (site, *(path for path in site.rglob("*") if path.is_dir())):
            private.chmod(0o700)
        here = {part: str(tmp_path / f"{site.name}.{file}.npz") for part, file in DATA.items()}
        write_settings(site, msgspec.structs.replace(read_settings(site), **here))
    return tmp_path


def any_project(place):
    return next(iter(place.glob(f"*/{PROJECT}")))


def test_one_of_every_kind_was_left():
    assert len(RUNNING) >= 6


@pytest.mark.slow
def test_a_project_under_way_goes_on_to_its_end_after_an_upgrade(place):
    project = load_project(any_project(place))
    assert project.terms.project.protocol >= OLDEST_PROTOCOL
    for name in project.names:
        assert upgrade(place / name).goes_on
    year = Year(place, project, Clock(project.terms.valid_from + 3600 + NIGHTS * DAY))
    try:
        rounds = rounds_of(project.terms)
        for name in year.names:
            year.start(name)
        assert any(len(year.records(name)) < rounds for name in year.names)
        for _ in range(4 * rounds + 6):
            year.night()
        assert {name: sorted(year.records(name)) for name in year.names} == {
            name: list(range(rounds)) for name in year.names
        }
        for name in year.names:  # an answer may be refused as implausible; none is missing
            assert not [one for one in year.records(name).values() if one.missed or one.away]
        assert year.spent_twice() == 0
        for name in year.names:
            with year.opened(name).store.view() as tx:
                assert not [what for what in refusals(tx) if not what.startswith("repeated")]
    finally:
        year.close()


def test_another_installation_finds_the_same_plan_in_every_project_that_is_spoken(place):
    """What came later is no part of an agreement at its default, whatever its default is for."""
    check_agreement(load_project(any_project(place)))


def test_what_a_newer_version_founded_is_refused_by_that_name_and_not_by_its_keys(place):
    text = any_project(place).read_text("utf-8")
    newer = re.sub(r"\nprotocol = \d+\n", f"\nprotocol = {PROTOCOL_VERSION + 1}\n", text)
    with pytest.raises(ConfigError, match="newer version of the protocol") as refused:
        parse_project(newer.replace("[encryption]", "[encryption]\nunheard_of = 1"), source="p")
    assert "\n" not in refused.value.problem
