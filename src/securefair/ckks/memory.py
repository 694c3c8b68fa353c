"""Memory that is used again while a network is evaluated.

Bands of a network make and drop arrays of tens of megabytes, 54 GB for a batch of `cifar`. The C
library gives each of them back to the system, and the next one starts with pages that the system
has to clear: a fifth of the time of an answer.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

KEPT = (1 << 31) - 1
"""Bytes of free memory that are kept, and of the largest array that is."""

ORDINARY = 32 << 20
"""What glibc would come to by itself, once such arrays were freed."""

_TRIM_THRESHOLD, _MAP_THRESHOLD = -1, -3
_lock = threading.Lock()
_users = 0


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep what is freed for the next array; give it back when the last user is done.

    Does nothing where the C library is not glibc.
    """
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _set(KEPT)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _set(ORDINARY)
                _call("malloc_trim", 0)


def _set(size: int) -> None:
    _call("mallopt", _MAP_THRESHOLD, size)
    _call("mallopt", _TRIM_THRESHOLD, size)


def _call(name: str, *numbers: int) -> None:
    function: Callable[..., int] | None = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*numbers)
