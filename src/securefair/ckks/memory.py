"""Memory of residues that is used again while a network is evaluated.

Bands of a network make and drop arrays of up to some hundred megabytes, 61 GB for a batch of
`cifar`. The C library gives arrays of this size back to the system. The next one starts with
pages that the system has to clear, and on a virtual machine to ask its host for.

So a thread that evaluates a network takes blocks of its own, for the time of one evaluation. They
hold what the evaluation makes, ciphertexts of one student, and nothing else: no key and no
plaintext passes through. Whoever takes a block overwrites all of it.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST = 4 << 20
"""Bytes of the smallest array that is worth it; from here on numpy asks for huge pages."""

SPARE = 512 << 20
"""Bytes that blocks may have beyond `WASTE` times what arrays needed at a time so far."""

WASTE = 1.5
"""A block serves arrays down to this part of it: bands differ, and fewer sizes fit more often."""

_Block = NDArray[np.uint8]


class Arena:
    """Blocks that one thread takes; any thread may let go of an array.

    Args:
        smallest: bytes of the smallest array that comes from a block.
        spare: bytes that blocks may have beyond what arrays needed at a time.
    """

    def __init__(self, *, smallest: int = SMALLEST, spare: int = SPARE) -> None:
        self._smallest, self._spare = smallest, spare
        self._free: list[_Block] = []  # the one that was free longest first
        self._left: deque[tuple[_Block, int]] = deque()
        self._used = self._most = self._held = 0
        self.open = True

    @property
    def held(self) -> int:
        """Bytes of all blocks, in use or free."""
        self._collect()
        return self._held

    def empty(self, shape: tuple[int, ...]) -> NDArray[np.int32]:
        """An array whose values are not set; its block is free when its last view is gone."""
        size = math.prod(shape) * np.dtype(np.int32).itemsize
        if size < self._smallest:
            return np.empty(shape, dtype=np.int32)
        self._collect()
        block = self._fitting(size)
        if block is None:
            self._drop(size)
            block = np.empty(size, dtype=np.uint8)
            self._held += size
        self._used += size
        self._most = max(self._most, self._used)
        return np.asarray(_Lease(self, block, shape, size))

    def take_back(self, block: _Block, size: int) -> None:
        """A block that nobody reads any more, and how many bytes of it were an array.

        Any thread may call it at any time, also the collector of garbage in the midst of `empty`.
        Adding to a deque is safe then, and all that it does.
        """
        if self.open:
            self._left.append((block, size))

    def close(self) -> None:
        """Give free blocks back to the system, and others as soon as they are free."""
        self.open = False
        self._left.clear()
        self._free.clear()

    def _collect(self) -> None:
        while self._left:
            block, size = self._left.popleft()
            self._used -= size
            self._free.append(block)

    def _fitting(self, size: int) -> _Block | None:
        """The smallest free block that is large enough and not too large, of such the last used."""
        fits = [i for i, b in enumerate(self._free) if size <= b.nbytes <= WASTE * size]
        if not fits:
            return None
        return self._free.pop(min(fits, key=lambda i: (self._free[i].nbytes, -i)))

    def _drop(self, size: int) -> None:
        """Make room for a new block: free ones go where all would be more than was ever needed."""
        limit = max(self._most, self._used + size) + self._spare
        while self._free and self._held + size > limit:
            self._held -= self._free.pop(0).nbytes


class _Lease:
    """What all views of an array refer to in the end; numpy would look through an array."""

    def __init__(self, arena: Arena, block: _Block, shape: tuple[int, ...], size: int) -> None:
        self._arena, self._block, self._shape, self._size = arena, block, shape, size

    @property
    def __array_interface__(self) -> dict[str, Any]:
        address = self._block.__array_interface__["data"][0]
        kind = np.dtype(np.int32).str
        return {"shape": self._shape, "typestr": kind, "data": (address, False), "version": 3}

    def __del__(self) -> None:
        self._arena.take_back(self._block, self._size)


class _Local(threading.local):
    arena: Arena | None = None


_local = _Local()


@contextmanager
def used_again() -> Iterator[None]:
    """Take the arrays of `empty` that this thread makes inside from blocks, freed at the end.

    An array that is still in use then stays valid; its block goes with it.
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
    """A new array whose values are not set, from a block inside `used_again`."""
    if _local.arena is not None:
        return _local.arena.empty(shape)
    # numpy asks the system for huge pages; with small ones their faults cost more than the kernels.
    return np.empty(shape, dtype=np.int32)
