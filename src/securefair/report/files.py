"""Files that are whole or not there, and JSON that is byte for byte alike for equal records."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from securefair.errors import DataError
from securefair.storage.files import PRIVATE_FILE, replace_file

T = TypeVar("T")


def check_writable(folder: Path) -> None:
    """Find out before long work, not after it, whether a folder takes files; leaves nothing behind.

    Raises:
        DataError: the folder, or the nearest one above it that exists, cannot be written.
    """
    places = (folder, *folder.absolute().parents)
    existing = next(path for path in places if os.path.lexists(path))
    if not existing.is_dir():
        problem = f"{existing} is not a folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        problem = f"{existing} does not permit it"
    else:
        return
    raise DataError(f"cannot write to {folder}: {problem}", hint="Choose another place with --out")


def check_new_file(path: Path, *, force: bool, endings: tuple[str, ...] = ()) -> None:
    """Find out before long work, not after it, whether a file can be made, and would replace none.

    Args:
        path: file that a user named.
        force: whether it may replace a file.
        endings: what its name may end in, if in anything; none for whatever.

    Raises:
        DataError: a file stands there already, it cannot be written, or its ending promises
            another kind of file.
    """
    if endings and path.suffix.lower() not in ("", *endings):
        raise DataError(
            "the file would not be what its name says",
            where=str(path),
            found=path.suffix,
            expected=" or ".join(endings),
        )
    check_writable(path.parent)
    if path.exists() and not path.is_file():
        raise DataError("a file is wanted, and this is none", where=str(path))
    if os.path.lexists(path) and not force:  # a link to nowhere is somebody's too
        raise DataError(
            "this file exists already",
            where=str(path),
            hint="Choose another name, or replace it with --force",
        )


def check_new_folder(folder: Path, *, force: bool | None) -> None:
    """The same of a folder for several files: none that holds something.

    Args:
        folder: that a user named.
        force: whether files in it may be replaced; None: the command never does.

    Raises:
        DataError: it holds something already, or cannot be written.
    """
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise DataError(
            "this folder is not empty",
            where=str(folder),
            hint="Name a new folder"
            + ("" if force is None else ", or replace its files with --force"),
        )
    check_writable(folder)


@contextlib.contextmanager
def no_empty_folder(folder: Path) -> Iterator[None]:
    """Where the block makes a folder and leaves it empty, it goes again, and so do those above it
    that were made for it.
    """
    missing = [one for one in (folder, *folder.absolute().parents) if not one.exists()]
    try:
        yield
    finally:
        for one in missing:
            with contextlib.suppress(OSError):  # not empty, or never made
                one.rmdir()


@contextlib.contextmanager
def filled_or_empty(folder: Path) -> Iterator[None]:
    """Where the block fails, all that is in a folder goes: it was empty, or not there, before.

    So whoever calls a second time, as after a full disk, finds it as it was.
    """
    with no_empty_folder(folder):
        try:
            yield
        except BaseException:
            for path in folder.iterdir() if folder.is_dir() else ():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def written_together(folder: Path) -> Iterator[Path]:
    """A place for files, which are in a folder together when the block ends, or none of them.

    Files of other names stay there, and so do all where the block fails, as on a full disk.
    """
    with no_empty_folder(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", suffix=".tmp", dir=folder) as place:
            yield Path(place)
            for path in sorted(Path(place).iterdir()):
                path.replace(folder / path.name)  # takes no room


def write_text(path: Path, text: str) -> Path:
    """Write UTF-8 text so that a reader or a crash sees the old file or the new, never a part.

    Missing folders are created. The bytes are on disk before the name points to them.

    Raises:
        OSError: the folder cannot be written; nothing is left behind.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes, *, private: bool = False, durable: bool = True) -> Path:
    """Write bytes so that a reader or a crash sees the old file or the new, never a part.

    Args:
        path: file to write; missing folders are created.
        data: its content.
        private: only its owner may read the file.
        durable: wait until the bytes are on the disk, so that a power cut leaves no part either.

    Raises:
        OSError: the folder cannot be written; nothing is left behind.
    """
    with no_empty_folder(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, mode=PRIVATE_FILE if private else 0o666, durable=durable)
    return path


def write_json(path: Path, value: object) -> Path:
    """One indented JSON document: fields in the order of the record, floats by `repr`.

    Args:
        path: file to write, atomically.
        value: a record, or lists and dicts of records and plain values.

    Raises:
        DataError: a number is NaN or infinite; JSON has no word for it.
    """
    return write_text(path, _dumps(path, value, indent=2) + "\n")


def write_json_lines(path: Path, rows: Iterable[object]) -> Path:
    """One compact JSON document a line (JSONL), otherwise as `write_json`."""
    return write_text(path, "".join(_dumps(path, row, indent=None) + "\n" for row in rows))


def read_json(path: Path, kind: type[T]) -> T:
    """The value that `write_json` wrote, checked against `kind`.

    Raises:
        DataError: the file is missing or is not such a value.
    """
    return _decode(_read(path), kind, str(path))


def read_json_lines(path: Path, kind: type[T]) -> list[T]:
    """The rows that `write_json_lines` wrote, each checked against `kind`.

    Raises:
        DataError: the file is missing or a line is not such a value; the error names the line.
    """
    lines = _read(path).splitlines()
    return [_decode(line, kind, f"{path}, line {at}") for at, line in enumerate(lines, start=1)]


def _dumps(path: Path, value: object, *, indent: int | None) -> str:
    plain = msgspec.to_builtins(value)
    separators = None if indent else (",", ":")
    try:
        return json.dumps(
            plain, indent=indent, separators=separators, ensure_ascii=False, allow_nan=False
        )
    except ValueError as error:
        raise DataError("a number is NaN or infinite", where=str(path), found=str(error)) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError("a record cannot be read", where=str(path), found=error.strerror) from error


def _decode(data: bytes, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise DataError(
            "this is not the record it should be",
            where=where,
            found=str(error),
            expected=getattr(kind, "__name__", str(kind)),
        ) from error
