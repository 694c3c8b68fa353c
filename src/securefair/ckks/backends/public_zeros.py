"""Encryptions of zero under a student's public key: what sanitising adds to an answer.

Making them takes longer than the rest of an answer, and what they are needs nothing but the key. So
a teacher makes them while it waits, up to a bound, and each is used once: two answers under one
encryption of zero would tell their difference. Who did not wait makes them in a thread while the
kernels compute what they are added to: SEAL holds the interpreter lock, and kernels do not.

SEAL draws (`seal_draws`), and kernels multiply with the public key as SEAL would, bit for bit:
one prime higher, and divided by it.
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

from securefair.ckks.backends import kernels, wire
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.residues import in_memory
from securefair.ckks.backends.seal_draws import draws_of
from securefair.ckks.parameters import CkksParameters

Words = NDArray[np.uint32]

MOST_BYTES = 64 << 20
"""Of encryptions that are ready at a time: those of several answers."""

AT_ONCE = 16
"""Made together: their residues stay in the cache, and a thread that is to end does so soon."""


class PublicZeros:
    """Makes encryptions of zero, some of them ahead; every one is handed out once.

    A key is checked when it arrives, and its seed expanded when it is first used: what is refused
    on other grounds took no memory. The half that masks our answers comes out of that seed and from
    nowhere else: a student who could choose it (0, say) would read the teacher's weights out of a
    sanitised answer.

    Raises:
        EncryptionError: the key has another length, or a residue is not below its prime.
    """

    def __init__(self, params: CkksParameters, public_key: bytes) -> None:
        wire.check_public_key(public_key, params)
        self._params, self._key = params, public_key
        self._opened: Words | None = None
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
        while wanted := min(count - self.ready(limbs), self._room(limbs), AT_ONCE):
            if most is not None:
                wanted = min(wanted, most - made)
            if wanted <= 0:
                break
            self._add(limbs, wanted)
            made += wanted
        return made

    @contextmanager
    def meanwhile(self, limbs: int, count: int) -> Iterator[None]:
        """Make the missing ones of `count` in a thread, as long as the block runs.

        Whoever takes some in the block waits for the thread, so there are never more than `count`.
        However the block ends, the thread ends with it, and what it made is ready for the next one.

        Args:
            limbs: limbs of each.
            count: that the block takes in all, and what comes next.

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
            while not over.is_set() and (some := min(missing, self._room(limbs), AT_ONCE)):
                self._add(limbs, some)
                missing -= some
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

    def open(self) -> Words:
        """The key with its seed expanded (2, limbs and special prime, N); what draws is ready."""
        with self._lock:
            if self._opened is None:
                draws_of(self._params.ring_degree)
                first, seed = wire.read_public_key(self._key, self._params)
                basis = self._basis(self._params.limbs)
                second = kernels.expand_seeds(np.frombuffer(seed, np.uint8)[None], basis)
                self._opened = np.stack([first, in_memory(second)[0].view(np.uint32)])
            return self._opened

    def _add(self, limbs: int, count: int) -> None:
        """Make so many, which are then ready."""
        zeros = self._make(limbs, count)
        with self._lock:
            self._stock().setdefault(limbs, []).extend(zeros)
            self._lock.notify_all()

    def _make(self, limbs: int, count: int) -> list[Words]:
        parts = [min(AT_ONCE, count - start) for start in range(0, count, AT_ONCE)]
        return [zero for part in parts for zero in self._encrypted(limbs, part)]

    def _encrypted(self, limbs: int, count: int) -> Words:
        """(p0 u + e0, p1 u + e1) modulo the primes and one above, divided by that one."""
        basis = self._basis(limbs)
        above = limbs if limbs < self._params.limbs else -1
        small = draws_of(self._params.ring_degree).take(count)
        drawn = _residues(small, basis)
        zeros = np.empty((count, 2, limbs, self._params.ring_degree), dtype=np.uint32)
        for half, key in enumerate(self.open()):
            factor = np.concatenate([key[:limbs], key[above][None]]).view(np.int32)
            product = kernels.multiply_plain(drawn[:1], factor[None], basis)
            kernels.add_(product, drawn[1 + half][None], basis)
            zeros[:, half] = in_memory(kernels.rescale(product, limbs, basis))[0]
        return zeros

    def _basis(self, limbs: int) -> Basis:
        """So many primes, and the one above: the next prime of the data, or the special one."""
        params = self._params
        above = params.primes[limbs] if limbs < params.limbs else params.special_prime
        return Basis(params.ring_degree, (*params.primes[:limbs], above))

    def _room(self, limbs: int) -> int:
        """How many more the bound allows."""
        each = 8 * limbs * self._params.ring_degree
        with self._lock:
            used = sum(zero.nbytes for zeros in self._stock().values() for zero in zeros)
            return max(0, (MOST_BYTES - used) // each)

    def _stock(self) -> dict[int, list[Words]]:
        """What is ready in this process: a fork leaves it, and the threads, to its parent."""
        if self._process != os.getpid():
            self._ready, self._making, self._process = {}, Counter(), os.getpid()
        return self._ready

    def __reduce__(self) -> NoReturn:
        """A copy would hand out what the original hands out, too."""
        raise TypeError("encryptions of zero must not be copied")


def _residues(small: NDArray[np.int32], basis: Basis) -> NDArray[np.int32]:
    """Integers (k, count, N) smaller than every prime -> residues (k, count, limbs, N), NTT."""
    primes = np.array(basis.primes, dtype=np.int32)[:, None]
    residues: NDArray[np.int32] = (small >> 31)[:, :, None] & primes
    residues += small[:, :, None]
    kernels.ntt_forward_(residues, basis)
    return residues
