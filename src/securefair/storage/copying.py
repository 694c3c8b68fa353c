"""A store as it is, beside itself: a copy that is whole or not there, or the store put aside."""

from __future__ import annotations

import filecmp
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count, takewhile
from pathlib import Path

from securefair.storage.connection import DATABASE, connect, explained
from securefair.storage.files import PRIVATE_FILE, PRIVATE_FOLDER, sync_folder, unwritten

LOCK, BLOBS = "lock", "blobs"

_PART = "part"
"""Behind the name of a copy that is being made."""


def copied(folder: Path, name: str) -> Path:
    """A copy of a store as it was committed last, on the disk when this returns.

    Where the very same lies there already, of an attempt that was killed, that is the copy.

    Args:
        folder: of the store, which this process alone may write meanwhile.
        name: behind the store's own, of the copy; see `beside`.

    Raises:
        StorageError: the disk is full, the folder around the store cannot be written, or the store
            is damaged. Nothing is left then.
    """
    part = folder.with_name(f"{folder.name}.{_PART}")
    try:
        shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
        part.mkdir(mode=PRIVATE_FOLDER)
        (part / LOCK).touch(mode=PRIVATE_FILE)
        _copy_database(folder, part)
        if (folder / BLOBS).is_dir():
            (part / BLOBS).mkdir(mode=PRIVATE_FOLDER)
            for blob in (folder / BLOBS).iterdir():
                _copy_file(blob, part / BLOBS / blob.name)
            sync_folder(part / BLOBS)
        sync_folder(part)
        place = beside(folder, name)
        same = next((one for one in _taken(folder, name) if _alike(one, part)), None)
        if same is None:
            part.rename(place)
        else:
            shutil.rmtree(part)
            place = same
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(part, ignore_errors=True)
        if isinstance(error, OSError):
            raise unwritten(folder.parent, error) from error
        if isinstance(error, sqlite3.Error):
            raise explained(error, folder) from error
        raise
    return place


def put_aside(folder: Path, name: str) -> Path:
    """A store under another name, so that a new one can be made in its place; nothing is lost.

    Args:
        folder: of the store, which nobody has open.
        name: see `copied`.

    Raises:
        StorageError: the folder around it cannot be written.
    """
    place = beside(folder, name)
    try:
        folder.rename(place)
        sync_folder(folder.parent)
    except OSError as error:
        raise unwritten(folder.parent, error) from error
    return place


def beside(folder: Path, name: str) -> Path:
    """A place beside a store where nothing lies: "STORE.NAME", "STORE.NAME-2", ..."""
    return next(place for place in _places(folder, name) if not place.exists())


def _places(folder: Path, name: str) -> Iterator[Path]:
    for number in count(1):
        yield folder.with_name(f"{folder.name}.{name}" + f"-{number}" * (number > 1))


def _taken(folder: Path, name: str) -> Iterator[Path]:
    return takewhile(Path.exists, _places(folder, name))


def _alike(one: Path, other: Path) -> bool:
    """Whether two copies hold the same files, byte for byte."""
    names = [
        {path.relative_to(place) for path in place.rglob("*") if path.is_file()}
        for place in (one, other)
    ]
    return names[0] == names[1] and all(
        filecmp.cmp(one / name, other / name, shallow=False) for name in names[0]
    )


def _copy_database(folder: Path, part: Path) -> None:
    """What is committed, wherever of database and log it stands."""
    path = part / DATABASE
    path.touch(mode=PRIVATE_FILE)
    with (
        closing(connect(folder, reads=True, durable=True)) as source,
        closing(sqlite3.connect(path)) as target,
    ):
        source.backup(target)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as data, target.open("xb") as file:
        target.chmod(PRIVATE_FILE)
        shutil.copyfileobj(data, file)
        file.flush()
        os.fsync(file.fileno())
