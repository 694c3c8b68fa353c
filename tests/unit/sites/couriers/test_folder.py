"""A shared folder that is full, read-only or away."""

import errno
import os
import threading

import pytest

from securefair.errors import ConfigError
from securefair.sites.couriers import folder as by_folder
from securefair.sites.couriers.folder import Pauses, start_folder, to_folder
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.couriers.shared import put
from securefair.sites.post.port import Ways
from support.counting import CountingPort


def refusing(code):
    """Puts a file as the courier does, unless the share refuses to."""

    def put_unless(folder, site, name, data):
        if data:
            raise OSError(code, os.strerror(code))
        put(folder, site, name, data)

    return put_unless


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_share_that_takes_no_bytes_is_told_before_a_start(tmp_path, monkeypatch, code):
    """A file without any was made all the same, and "can be written" was said."""
    monkeypatch.setattr(by_folder, "put", refusing(code))
    settings = CourierSettings(kind="folder", folder=str(tmp_path))
    for act in (
        lambda: by_folder.COURIER.check(settings, tmp_path, "north"),
        lambda: start_folder(CountingPort("north", "south", 1), tmp_path, threading.Event()),
    ):
        with pytest.raises(ConfigError, match="cannot be written") as refused:
            act()
        assert refused.value.passing


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_share_that_takes_no_parcels_is_told_until_it_takes_them(tmp_path, monkeypatch, code):
    """Nothing was told for six hours, and then that nobody was heard."""
    monkeypatch.setattr(by_folder, "WAIT", 0.0)
    north = CountingPort("north", "south", 1)
    hand_over = to_folder(north, "south", tmp_path, every=0.0)
    with monkeypatch.context() as patch:
        patch.setattr(by_folder, "put", refusing(code))
        assert [hand_over(b"parcel") for _ in range(3)] == [None] * 3
    assert hand_over(b"parcel") is None
    [why, then] = north.told
    assert "the shared folder cannot be written" in why
    assert os.strerror(code) in why
    assert str(tmp_path / "south" if code == errno.EACCES else tmp_path) + ":" in why
    assert then == ""


def test_a_share_that_takes_no_receipts_is_told_and_one_that_is_away_is_not(tmp_path, monkeypatch):
    north, south = CountingPort("north", "south", 1), CountingPort("south", "north", 0)
    put(tmp_path, "south", "north.parcel", north.pending("south", 0))
    for code in (errno.ESTALE, errno.EROFS):
        with monkeypatch.context() as patch:
            patch.setattr(by_folder, "put", refusing(code))
            by_folder._collect_from(south, tmp_path, "north", Pauses(0.5), set())
        assert len(south.told) == (code == errno.EROFS)
    by_folder._collect_from(south, tmp_path, "north", Pauses(0.5), set())
    assert south.told[1:] == [""]


def test_one_share_is_told_once_whoever_a_parcel_is_for():
    told = []
    ways = Ways(lambda: told.append(ways.hindrance))
    for way in ("to north", "to south", "from south"):
        ways.tell(way, "full")
        ways.tell(way, "full")
    assert told == ["full"] * 3
    for way in ("to north", "to south", "from south"):
        ways.tell(way, "")
    assert told[3:] == ["full", "full", ""]
