"""Encryptions of zero under a student's public key: what sanitising adds to an answer.

Making them takes longer than the rest of an answer, and what they are needs nothing but the key. So
a teacher makes them while it waits, up to a bound, and each is used once: two answers under one
encryption of zero would tell their difference. Who did not wait makes them in a thread while the
kernels compute what they are added to: SEAL holds the interpreter lock, and kernels do not.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import wire
from securefair.ckks.backends.seal_context import SealContext, SealObject, seal_context
from securefair.ckks.backends.seal_keys import encryptions_of_zero, load_public_key
from securefair.ckks.parameters import CkksParameters

Words = NDArray[np.uint32]

MOST_BYTES = 64 << 20
"""Of encryptions that are ready at a time: those of several answers."""


class PublicZeros:
    """Makes encryptions of zero, some of them ahead; every one is handed out once.

    A key is checked when it arrives. SEAL gets it when it is first used: what is refused on other
    grounds has built no context.

    Raises:
        EncryptionError: the key has another length, or a residue is not below its prime.
    """

    def __init__(self, params: CkksParameters, public_key: bytes) -> None:
        wire.check_public_key(public_key, params)
        self._params, self._key = params, public_key
        self._opened: tuple[SealContext, SealObject] | None = None
        self._ready: dict[int, list[Words]] = {}
        self._making = Counter[int]()
        self._lock = threading.Condition(threading.Lock())
        self._process = os.getpid()

    def prepare(self, limbs: int, count: int, *, most: int | None = None) -> int:
        """Have `count` of so many limbs ready, or as many as the bound allows.

        Args:
            limbs: limbs of each.
            count: that are to be ready.
            most: made by this call at most; None for all.

        Returns:
            How many were made.
        """
        made = 0
        while (most is None or made < most) and self.ready(limbs) < count and self._room(limbs):
            self._add(limbs)
            made += 1
        return made

    @contextmanager
    def meanwhile(self, limbs: int, count: int) -> Iterator[None]:
        """Make the missing ones of `count` in a thread, as long as the block runs.

        Whoever takes some in the block waits for the thread, so there are never more than `count`.
        However the block ends, the thread ends with it, and what it made is ready for the next one.

        Args:
            limbs: limbs of each.
            count: that the block takes in all.

        Raises:
            EncryptionError: the thread made none, and the block ended without an error of its own.
        """
        missing = count - self.ready(limbs)
        if missing <= 0:
            yield
            return
        over = threading.Event()
        with ThreadPoolExecutor(1, thread_name_prefix="zeros") as thread:
            with self._lock:  # so that nobody can take some before it is known that more come
                made = thread.submit(self._add_until, over, limbs, missing)
                self._making[limbs] += 1
            try:
                yield
            finally:
                over.set()
        made.result()

    def _add_until(self, over: threading.Event, limbs: int, missing: int) -> None:
        """Make so many, unless it is over before, or there is no room."""
        try:
            for _ in range(missing):
                if over.is_set() or not self._room(limbs):
                    break
                self._add(limbs)
        finally:
            with self._lock:
                self._making[limbs] -= 1
                self._lock.notify_all()

    def take(self, limbs: int, count: int) -> Words:
        """Fresh encryptions (count, 2, limbs, N), those that are ready first."""
        with self._lock:
            ready = self._stock().setdefault(limbs, [])
            self._lock.wait_for(lambda: len(ready) >= count or not self._making[limbs])
            taken = [ready.pop() for _ in range(min(count, len(ready)))]
        if len(taken) < count:
            taken.extend(self._make(limbs, count - len(taken)))
        return np.stack(taken)

    def ready(self, limbs: int) -> int:
        """How many are ready."""
        with self._lock:
            return len(self._stock().get(limbs, []))

    def open(self) -> tuple[SealContext, SealObject]:
        """SEAL's context, and its encryptor under the key."""
        with self._lock:
            if self._opened is None:
                context = seal_context(self._params)
                self._opened = context, load_public_key(context, self._key)
            return self._opened

    def _add(self, limbs: int) -> None:
        """Make one, which is then ready."""
        zero = self._make(limbs, 1)[0]
        with self._lock:
            self._stock().setdefault(limbs, []).append(zero)
            self._lock.notify_all()

    def _make(self, limbs: int, count: int) -> Words:
        zeros = encryptions_of_zero(*self.open(), limbs, count)
        return zeros.astype(np.uint32)

    def _room(self, limbs: int) -> bool:
        """Whether the bound allows one more."""
        each = 8 * limbs * self._params.ring_degree
        with self._lock:
            used = sum(zero.nbytes for zeros in self._stock().values() for zero in zeros)
            return used + each <= MOST_BYTES

    def _stock(self) -> dict[int, list[Words]]:
        """What is ready in this process: a fork leaves it, and the threads, to its parent."""
        if self._process != os.getpid():
            self._ready, self._making, self._process = {}, Counter(), os.getpid()
        return self._ready

    def __reduce__(self) -> NoReturn:
        """A copy would hand out what the original hands out, too."""
        raise TypeError("encryptions of zero must not be copied")
