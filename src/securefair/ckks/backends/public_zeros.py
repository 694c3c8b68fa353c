"""Encryptions of zero under a student's public key: what sanitising adds to an answer.

Making them takes longer than the rest of an answer, and what they are needs nothing but the key. So
a teacher makes them while it waits, up to a bound, and each is used once: two answers under one
encryption of zero would tell their difference.
"""

from __future__ import annotations

import os
import threading
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
        self._lock = threading.Lock()
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
        while (most is None or made < most) and self._short(limbs, count):
            zero = self._make(limbs, 1)[0]
            with self._lock:
                self._stock().setdefault(limbs, []).append(zero)
            made += 1
        return made

    def take(self, limbs: int, count: int) -> Words:
        """Fresh encryptions (count, 2, limbs, N), those that are ready first."""
        with self._lock:
            ready = self._stock().get(limbs, [])
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

    def _make(self, limbs: int, count: int) -> Words:
        zeros = encryptions_of_zero(*self.open(), limbs, count)
        return zeros.astype(np.uint32)

    def _short(self, limbs: int, count: int) -> bool:
        each = 8 * limbs * self._params.ring_degree
        with self._lock:
            stock = self._stock()
            used = sum(zero.nbytes for zeros in stock.values() for zero in zeros)
            return len(stock.get(limbs, [])) < count and used + each <= MOST_BYTES

    def _stock(self) -> dict[int, list[Words]]:
        """What is ready in this process: a fork leaves it to its parent."""
        if self._process != os.getpid():
            self._ready, self._process = {}, os.getpid()
        return self._ready

    def __reduce__(self) -> NoReturn:
        """A copy would hand out what the original hands out, too."""
        raise TypeError("encryptions of zero must not be copied")
