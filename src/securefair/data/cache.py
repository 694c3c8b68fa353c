"""Arrays that are computed once and kept in a folder: decoded images, extracted features."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def content_key(*parts: NDArray[Any] | str) -> str:
    """32 hexadecimal digits that stand for the contents: shapes, types, values and words."""
    digest = blake2b(digest_size=16, person=b"sf-data-cache")
    for part in parts:
        if isinstance(part, str):
            digest.update(f"text {len(part.encode())}".encode())
            digest.update(part.encode())
        else:
            digest.update(f"array {part.dtype.str} {part.shape}".encode())
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def cache_array(
    folder: Path | None, name: str, key: str, build: Callable[[], NDArray[Any]]
) -> NDArray[Any]:
    """The array `build()` makes, from the file `name-key.npy` where an earlier call left it.

    The key names the array's inputs, so nothing ever goes stale: other inputs have another file.
    A reader or a crash sees a whole file or none. A file that cannot be read is made anew.

    Args:
        folder: created where missing; None keeps nothing.
        name: of what it is, for people who look into the folder.
        key: of what it is made from (`content_key`).
        build: makes it.

    Returns:
        The array; from a file it is mapped into memory and read-only.

    Raises:
        OSError: the folder cannot be written.
    """
    if folder is None:
        return build()
    path = folder / f"{name}-{key}.npy"
    found = _read(path)
    if found is not None:
        return found
    array = build()
    _write(path, array)
    return array


def _read(path: Path) -> NDArray[Any] | None:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):  # not there, or cut off by other hands
        return None
    return array


def _write(path: Path, array: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A rename is atomic only within one file system; two runs may write the same at once.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
