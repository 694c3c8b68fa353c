"""Memory of residues that is used again while a model is evaluated.

Bands of a network make and drop arrays of up to some hundred megabytes, 61 GB for a batch of
`cifar`, and blocks of a head their hidden units. The C library gives arrays of this size back to
the system. The next one starts with pages that the system has to clear, and on a virtual machine
to ask its host for.

So a thread that evaluates a model takes arrays from regions of its own, for the time of one
evaluation. They hold what the evaluation makes, ciphertexts of one student, and nothing else: no
key and no plaintext passes through. Whoever takes an array overwrites all of it.
"""

from __future__ import annotations

import math
import mmap
import resource
import threading
from bisect import bisect
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST = 4 << 20
"""Bytes of the smallest array that is worth it; from here on numpy asks for huge pages."""

FIRST = 64 << 20
"""Bytes of the first region; each other one doubles all, and costs nothing until it is used."""

_Hole = tuple[int, int, int]
"""Number of a region, and from which of its bytes to which one nothing lies there."""


class Arena:
    """Regions that one thread takes arrays from; any thread may let go of an array.

    An array goes to the smallest hole that it fits, and holes that touch become one: bands need
    arrays of many sizes, and so hardly any page is touched that another size had no use for.

    Args:
        smallest: bytes of the smallest array that comes from a region.
        first: bytes of the first region.
    """

    def __init__(self, *, smallest: int = SMALLEST, first: int = FIRST) -> None:
        self._smallest, self._first = smallest, first
        self._regions: list[_Region] = []
        self._holes: list[_Hole] = []  # in order
        self._left: deque[tuple[_Region, _Hole]] = deque()
        self.open = True

    @property
    def reserved(self) -> int:
        """Bytes of all regions, whether anything ever lay there or not."""
        return sum(region.size for region in self._regions)

    @property
    def holes(self) -> list[int]:
        """Bytes of every place where nothing lies; no two of them touch each other."""
        self._collect()
        return [stop - start for _, start, stop in self._holes]

    def empty(self, shape: tuple[int, ...]) -> NDArray[np.int32]:
        """An array whose values are not set; its place is free when its last view is gone."""
        bytes_ = math.prod(shape) * np.dtype(np.int32).itemsize
        if bytes_ < max(self._smallest, 1):
            return np.empty(shape, dtype=np.int32)
        size = -(-bytes_ // mmap.PAGESIZE) * mmap.PAGESIZE  # so that pages can be given back
        self._collect()
        if (at := self._fitting(size)) is None and (at := self._grown(size)) is None:
            return np.empty(shape, dtype=np.int32)  # numpy says so if there is no memory
        number, start, stop = self._holes.pop(at)
        if start + size < stop:
            self._holes.insert(at, (number, start + size, stop))
        place = number, start, start + size
        return np.asarray(_Lease(self, self._regions[number], place, shape))

    def take_back(self, region: _Region, place: _Hole) -> None:
        """A place that nobody reads any more.

        Any thread may call it at any time, also the collector of garbage in the midst of `empty`.
        Adding to a deque is safe then, and so is giving pages back.
        """
        self._left.append((region, place))
        if not self.open:  # nobody else may look again
            with suppress(IndexError):  # somebody else did
                while True:
                    last, (_, start, stop) = self._left.popleft()
                    last.give_back(start, stop)

    def close(self) -> None:
        """Give free memory back to the system, and other memory as soon as it is free."""
        self.open = False
        self._collect()
        for number, start, stop in self._holes:
            self._regions[number].give_back(start, stop)
        self._holes.clear()
        self._regions.clear()

    def _collect(self) -> None:
        with suppress(IndexError):
            while True:
                self._join(self._left.popleft()[1])

    def _join(self, hole: _Hole) -> None:
        """Add a hole, as one with those before and behind it."""
        holes, (number, start, stop) = self._holes, hole
        at = bisect(holes, hole)
        if at < len(holes) and holes[at][:2] == (number, stop):
            stop = holes.pop(at)[2]
        if at and holes[at - 1][::2] == (number, start):
            at -= 1
            start = holes.pop(at)[1]
        holes.insert(at, (number, start, stop))

    def _fitting(self, size: int) -> int | None:
        """Which hole: of the smallest that are large enough the first one, or None."""
        rooms = [(stop - start, at) for at, (_, start, stop) in enumerate(self._holes)]
        return min((room for room in rooms if room[0] >= size), default=(0, None))[1]

    def _grown(self, size: int) -> int | None:
        """The hole of a new region; None if the system grants none.

        It is as large as all others together, or only as large as it must be where the system
        counts memory that is not touched: others need that, too.
        """
        large = size if reserving_counts() else max(size, self._first, self.reserved)
        for wanted in (large, size):
            with suppress(OSError):
                self._regions.append(_Region(wanted))
                self._holes.append((len(self._regions) - 1, 0, wanted))
                return len(self._holes) - 1
        return None


def reserving_counts() -> bool:
    """Whether memory that nobody touches is counted: by a limit of addresses, or by the system."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return True
    try:
        return Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2"
    except OSError:
        return False


class _Region:
    """Memory whose pages the system gives one by one, when something is first written there.

    Raises:
        OSError: the system does not grant as much.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = np.frombuffer(self._pages, np.uint8).__array_interface__["data"][0]
        with suppress(OSError):  # a system without huge pages
            self._pages.madvise(mmap.MADV_HUGEPAGE)

    def give_back(self, start: int, stop: int) -> None:
        """Let the system have the pages of these bytes; what is written there later gets others."""
        with suppress(OSError):  # a process that keeps all of its memory from being swapped
            self._pages.madvise(mmap.MADV_DONTNEED, start, stop - start)


class _Lease:
    """What all views of an array refer to in the end; numpy would look through an array."""

    def __init__(self, arena: Arena, region: _Region, place: _Hole, shape: tuple[int, ...]) -> None:
        self._arena, self._region, self._place, self._shape = arena, region, place, shape

    @property
    def __array_interface__(self) -> dict[str, Any]:
        address = self._region.address + self._place[1]
        kind = np.dtype(np.int32).str
        return {"shape": self._shape, "typestr": kind, "data": (address, False), "version": 3}

    def __del__(self) -> None:
        self._arena.take_back(self._region, self._place)


class _Local(threading.local):
    arena: Arena | None = None


_local = _Local()


@contextmanager
def used_again() -> Iterator[None]:
    """Take the arrays of `empty` that this thread makes inside from regions, freed at the end.

    An array that is still in use then stays valid; its memory goes with it.
    """
    if _local.arena is not None:
        yield
        return
    arena = _local.arena = Arena()
    try:
        yield
    finally:
        _local.arena = None
        arena.close()


def empty(*shape: int) -> NDArray[np.int32]:
    """A new array whose values are not set, from a region inside `used_again`."""
    if _local.arena is not None:
        return _local.arena.empty(shape)
    # numpy asks the system for huge pages; with small ones their faults cost more than the kernels.
    return np.empty(shape, dtype=np.int32)
