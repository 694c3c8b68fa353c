"""Files in a folder into which others write: what is held, and what stands in its way."""

import errno
import os

import pytest

from securefair.sites.couriers import shared
from securefair.sites.couriers.shared import hold, put
from securefair.storage.files import NoFileError

LIMIT = 1 << 16


def test_a_folder_that_cannot_be_read_is_put_out_of_the_way(tmp_path, monkeypatch):
    def read(name, limit, *, dir_fd):
        raise PermissionError(errno.EACCES, "not yours")  # root reads whatever it likes

    put(tmp_path, "south", "north.parcel", b"lost")
    (tmp_path / "south" / "north.parcel.held").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(shared, "read_regular", read)
        with pytest.raises(NoFileError):
            hold(tmp_path, "south", "north.parcel", LIMIT)
    put(tmp_path, "south", "north.parcel", b"next")
    assert hold(tmp_path, "south", "north.parcel", LIMIT) == b"next"


def test_a_held_parcel_that_cannot_be_read_is_replaced_by_the_next(tmp_path, monkeypatch):
    put(tmp_path, "south", "north.parcel.held", b"of another user")
    put(tmp_path, "south", "north.parcel", b"next")
    shut, read = [(tmp_path / "south" / "north.parcel.held").stat().st_ino], shared.read_regular

    def read_what_is_open(name, limit, *, dir_fd):
        if os.stat(name, dir_fd=dir_fd).st_ino in shut:  # root reads whatever it likes
            raise PermissionError(errno.EACCES, "not yours")
        return read(name, limit, dir_fd=dir_fd)

    monkeypatch.setattr(shared, "read_regular", read_what_is_open)
    assert hold(tmp_path, "south", "north.parcel", LIMIT) == b"next"
