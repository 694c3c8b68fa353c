"""Private files that are whole or not there, folders that only their owner enters, and locks."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from securefair.errors import MAY_PASS, StorageError

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
MAX_PRIVATE = 1 << 30
"""Most bytes of a private file: a keystore holds keys of some megabytes each."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_POLL_SECONDS = 0.02


def replace_file(path: Path, data: bytes, *, mode: int, durable: bool = True) -> None:
    """Write a file so that a reader or a crash sees the old one or the new, never a part.

    Args:
        path: file to write; its folder exists.
        data: its content.
        mode: permissions of the new file, less the user's umask.
        durable: wait until the bytes and the name are on the disk.

    Raises:
        OSError: the folder cannot be written, or the disk is full; names `path`, and nothing is
            left behind. Where only the folder cannot be synced, the new file is in its place
            already.
    """
    # Same folder, because a rename is atomic only within one file system; a name that nobody
    # guesses, because two runs may write at once, and others may plant a link where they can.
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, mode), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise error_about(path, error) from error
        raise


def error_about(path: Path, error: OSError) -> OSError:
    """The same error of what was asked for, where it is of a temporary name, or of none."""
    return OSError(error.errno, error.strerror, str(path))


def write_private(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file of mode 0600 as `replace_file` does.

    Raises:
        StorageError: as `replace_file`.
    """
    try:
        replace_file(path, data, mode=PRIVATE_FILE, durable=durable)
    except OSError as error:
        raise unwritten(path, error) from error


def unwritten(path: Path, error: OSError) -> StorageError:
    """What it means that the system refused to write a file of a store or a keystore."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return full_disk(path, str(error.strerror), "Free some space, and try again")
    return StorageError(
        "a file cannot be written",
        where=str(path),
        found=error.strerror,
        passing=error.errno in MAY_PASS,
    )


def full_disk(place: Path, found: str, hint: str) -> StorageError:
    """That there is no room for what is to be written to a place."""
    return StorageError(
        "the disk is full",
        where=str(place),
        found=found,
        hint=hint,
        passing=True,
    )


def sync_folder(folder: Path) -> None:
    """Make new names durable (POSIX: a rename is data of the folder)."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private_folder(folder: Path, *, create: bool) -> None:
    """Make sure of a folder that only its owner can enter.

    A missing folder is made, and an empty one is closed to others; one that holds something is
    refused while others can enter it, since they may have read it already.

    Raises:
        StorageError: missing and not to be created, not a folder, or open to others.
    """
    try:
        if create:
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        mode = folder.stat().st_mode
        if not stat.S_ISDIR(mode):
            raise StorageError("this is not a folder", where=str(folder))
        if mode & _OTHERS:
            if not create or any(folder.iterdir()):
                raise StorageError(
                    "other users of this machine can enter this folder",
                    where=str(folder),
                    found=f"mode {stat.S_IMODE(mode):o}",
                    expected=f"mode {PRIVATE_FOLDER:o}",
                    hint=f"Name a new folder, or run: chmod 700 {folder}",
                )
            folder.chmod(PRIVATE_FOLDER)
    except FileNotFoundError as error:
        raise absent(folder) from error
    except FileExistsError as error:
        raise StorageError("this is not a folder", where=str(folder)) from error
    except OSError as error:
        raise StorageError(
            "the folder cannot be used", where=str(folder), found=error.strerror
        ) from error


LOST = (
    "Put the newest copy back; where a site's store is lost, run `securefair site recover`"
    " (first `securefair site init` with the same identity, where its whole folder is)"
)
"""What to do without a store."""


def absent(folder: Path) -> StorageError:
    """That there is no store where one was."""
    return StorageError(
        "there is no store in this folder",
        where=str(folder),
        hint=LOST,
    )


class DamagedError(StorageError):
    """What is in a store is not what was written.

    Args:
        where: file, or folder of the store.
        found: how that shows.
    """

    def __init__(self, where: Path, found: object = None) -> None:
        super().__init__(
            "the store is damaged",
            where=str(where),
            found=found,
            hint="Put its newest copy back; where there is none, a site goes on by "
            "`securefair site recover`",
        )


def read_private(path: Path, what: str) -> bytes:
    """The content of a file that only its owner may read, who is this user or root.

    A link is followed, since its owner made it; a pipe or a device is not waited for.

    Raises:
        StorageError: it is missing, cannot be read, is no regular file, too large, or others may
            read or have written it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                raise StorageError(f"{what} is a folder", where=str(path))
            if found.st_mode & _OTHERS:
                raise StorageError(
                    f"other users of this machine can read {what}",
                    where=str(path),
                    found=f"mode {stat.S_IMODE(found.st_mode):o}",
                    expected=f"mode {PRIVATE_FILE:o}",
                    hint=f"chmod 600 {path}",
                )
            if found.st_uid not in (os.geteuid(), 0):
                raise StorageError(
                    f"{what} belongs to another user",
                    where=str(path),
                    found=f"user {found.st_uid}",
                    expected=f"user {os.geteuid()}",
                    hint="Run this as its owner",
                )
            return _regular(descriptor, str(path), MAX_PRIVATE)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageError(
            f"{what} cannot be read", where=str(path), found=error.strerror
        ) from error


class NoFileError(OSError):
    """In a file's place lies something else, or more than was expected."""


_NO_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR)  # of opening a link, a socket, a folder


def read_regular(path: str | Path, limit: int, *, dir_fd: int | None = None) -> bytes:
    """The content of a regular file which others may have put there; nothing is followed.

    Args:
        path: of the file.
        limit: most bytes; of a larger file nothing is read.
        dir_fd: of the folder that `path` begins in.

    Raises:
        FileNotFoundError: there is none.
        NoFileError: it is a link, no regular file, or larger.
        OSError: it cannot be read.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise NoFileError(error.errno, "this is no regular file", str(path)) from error
        raise
    try:
        return _regular(descriptor, str(path), limit)
    finally:
        os.close(descriptor)


def _regular(descriptor: int, path: str, limit: int) -> bytes:
    """At most so many bytes of what is open, if that is a regular file."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise NoFileError(errno.EINVAL, "this is no regular file", path)
    if found.st_size > limit:
        raise NoFileError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        data = file.read(limit + 1)  # it may grow meanwhile
    if len(data) > limit:
        raise NoFileError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return data


@contextlib.contextmanager
def locked_folder(folder: Path, *, wait_s: float = 10.0) -> Iterator[None]:
    """Keep other processes, and other threads, out of the same block for this folder.

    Raises:
        StorageError: somebody else stayed in it for longer than `wait_s` seconds.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise StorageError(
            "the folder cannot be used", where=str(folder), found=error.strerror
        ) from error
    try:
        if not acquire(descriptor, fcntl.LOCK_EX, wait_s=wait_s):
            raise StorageError("another process keeps this folder locked", where=str(folder))
        yield
    finally:
        os.close(descriptor)  # gives the lock back


def acquire(descriptor: int, kind: int, *, wait_s: float) -> bool:
    """Take a lock (`fcntl.LOCK_EX` or `LOCK_SH`) on an open file; False after `wait_s` seconds.

    Raises:
        StorageError: the file system has no locks.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise StorageError(
                    "this file system cannot lock files",
                    found=error.strerror,
                    hint="Keep the store on a local disk",
                ) from error
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        else:
            return True
