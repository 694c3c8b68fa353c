"""Files in a folder into which others may write whatever they like.

Who can write there can lose messages, and must do no more. So nothing in it is followed: folders
and files are opened without following links, only regular files are read and never more of them
than was expected, and what is written is a new file under a random name. Whose a file is tells
nothing here, as network drives show anybody's under any owner: what it holds is signed.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from securefair.storage.files import PRIVATE_FILE, NoFileError, read_regular

_RANDOM = 8
"""Random bytes in the name of a file that is being written."""

_HELD = ".held"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(folder: Path, site: str, name: str, data: bytes) -> None:
    """A whole file or none.

    Args:
        folder: shared; it exists.
        site: whose part of it.
        name: of the file; what lies there is replaced, and never written through.
        data: its content.

    Raises:
        OSError: it cannot be written; the part of the folder may be a link.
    """
    with _part(folder, site) as part:
        temporary = f".{name}.{secrets.token_hex(_RANDOM)}"
        descriptor = os.open(temporary, _NEW, PRIVATE_FILE, dir_fd=part)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, name, src_dir_fd=part, dst_dir_fd=part)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=part)
            raise


def take(folder: Path, site: str, name: str, limit: int) -> bytes | None:
    """A file's bytes, and the file is gone; None where there is none.

    Args:
        folder: shared.
        site: whose part of it.
        name: of the file.
        limit: most bytes.

    Raises:
        NoFileError: it is no regular file, or larger; it was put out of the way.
        OSError: it cannot be read.
    """
    with _part(folder, site) as part:
        data = _read(part, name, limit)
        if data is not None:
            os.unlink(name, dir_fd=part)
        return data


def hold(folder: Path, site: str, name: str, limit: int) -> bytes | None:
    """A file's bytes, which lie on under a name of their own until `let_go`; None where there is no
    file. What was held and not let go, as its process was killed, comes first.

    Meanwhile whoever writes the next file replaces nothing.

    Args:
        folder, site, name, limit: see `take`.

    Raises:
        NoFileError, OSError: see `take`.
    """
    with _part(folder, site) as part:
        try:
            data = _read(part, name + _HELD, limit)
        except NoFileError:
            raise
        except OSError:
            data = None  # the next one replaces what cannot be read
        if data is not None:
            return data
        try:
            os.rename(name, name + _HELD, src_dir_fd=part, dst_dir_fd=part)
        except FileNotFoundError:
            return None
        except (IsADirectoryError, NotADirectoryError) as error:  # a folder that cannot be read
            for one in (name, name + _HELD):
                _put_away(part, one)
            raise NoFileError(error.errno, "this is no regular file", name) from error
        return _read(part, name + _HELD, limit)


def let_go(folder: Path, site: str, name: str) -> None:
    """What was held has been dealt with."""
    drop(folder, site, name + _HELD)


def _read(part: int, name: str, limit: int) -> bytes | None:
    """What is no file is put out of the way."""
    try:
        return read_regular(name, limit, dir_fd=part)
    except FileNotFoundError:
        return None
    except NoFileError:
        _put_away(part, name)
        raise


def lies(folder: Path, site: str, name: str) -> bool:
    """Whether anything lies in a file's place.

    Raises:
        OSError: nobody can look.
    """
    with _part(folder, site) as part:
        try:
            os.stat(name, dir_fd=part, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True


def drop(folder: Path, site: str, name: str) -> None:
    """Remove what lies in a file's place."""
    with _part(folder, site) as part:
        _put_away(part, name)


def sweep(folder: Path, site: str, name: str) -> None:
    """Remove what is left of a file that was being written as its writer's process ended.

    Only for whoever alone writes files of this name there, and writes none now.
    """
    kept = re.compile(re.escape(f".{name}.") + f"[0-9a-f]{{{2 * _RANDOM}}}")
    with _part(folder, site) as part, os.scandir(part) as entries:
        left = [one.name for one in entries if kept.fullmatch(one.name)]
        for one in left:
            if stat.S_ISREG(os.stat(one, dir_fd=part, follow_symlinks=False).st_mode):
                os.unlink(one, dir_fd=part)


@contextlib.contextmanager
def _part(folder: Path, site: str) -> Iterator[int]:
    """One site's part of the shared folder, opened."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder / site)
    part = os.open(folder / site, _FOLDER)
    try:
        yield part
    finally:
        os.close(part)


def _put_away(part: int, name: str) -> None:
    """Whatever it is: links and pipes go, a folder gets another name."""
    try:
        mode = os.stat(name, dir_fd=part, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        aside = f".{name}.{secrets.token_hex(_RANDOM)}"
        os.rename(name, aside, src_dir_fd=part, dst_dir_fd=part)
    else:
        os.unlink(name, dir_fd=part)
