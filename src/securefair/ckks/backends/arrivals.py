"""Ciphertexts that stay in the message that they arrived in until they are used.

A ciphertext travels as its first polynomial and a seed of the second. Expanding an upload at once
doubles its memory, and fresh memory costs a process more than the arithmetic on it. So dense maps
work tile by tile: the native kernel expands a few columns of all seeds, multiplies and drops them,
and drops what is between a map, its squares and the next map as well.

Whoever asks an upload again gets its second polynomials kept, while there is room: reading them is
faster than expanding them for every answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import (
    check,
    check_dense,
    check_in_memory,
    check_key,
)
from securefair.ckks.backends.residues import Device, Residues
from securefair.errors import EncryptionError

Map: TypeAlias = "tuple[NDArray[np.int64], Residues]"
"""Integer weights (outputs, inputs) and residues (outputs, limbs) of the bias."""

WORD_BYTES = 4

KEPT_BYTES = 256 << 20
"""Most bytes of second polynomials that one evaluator keeps."""


class Room:
    """How many bytes may still be kept."""

    def __init__(self, size: int = KEPT_BYTES) -> None:
        self._left = size

    def take(self, size: int) -> bool:
        """Whether there was room, which is then taken."""
        if size > self._left:
            return False
        self._left -= size
        return True


class Arrivals:
    """Ciphertexts (d, 2, limbs, N) as they arrived, for the native kernels; see `arrive`."""

    def __init__(
        self, first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis, room: Room
    ) -> None:
        self._first, self._seeds = first, seeds
        self._basis = basis
        self._room = room
        self._used = False
        self._second: NDArray[np.int32] | None = None
        self._whole: Residues | None = None

    def __len__(self) -> int:
        return len(self._seeds)

    @property
    def message(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Packed first polynomials (d, bytes) and seeds (d, 64)."""
        return self._first, self._seeds

    def apply(self, maps: Sequence[Map]) -> Residues:
        """One dense map, or two with a square between them.

        Bit for bit `kernels.linear`, or `linear`, `square` and `linear`, of `expanded`.

        Returns:
            Ciphertexts (outputs, 2, limbs, N), or (outputs, 3, limbs, N) of two maps.

        Raises:
            EncryptionError: weights or biases do not fit.
        """
        from securefair.ckks.backends import residues_native

        inputs, checked = len(self), []
        for one in maps:
            checked.append(self._checked(one, inputs))
            inputs = len(one[0])
        with self._kept() as second:
            return residues_native.arrived_maps(
                self._first, self._seeds, second, checked, self._basis
            )

    def apply_paired(self, maps: tuple[Map, Map], key: Residues, special: int) -> Residues:
        """outer((z + conj(z))^2) of pairs, z = (w - J v) (x + J y), for maps (inner, outer).

        Bit for bit `linear`, `pairs.join`, `pairs.add_conjugates`, `square` and `linear`.

        Args:
            maps: the inner one has all rows w, then all rows v, and the bias of all.
            key, special: as of `pairs.add_conjugates`.

        Returns:
            Ciphertexts (outputs, 3, limbs, N).

        Raises:
            EncryptionError: weights, biases or the key do not fit.
        """
        from securefair.ckks.backends import residues_native

        rows = len(maps[0][0])
        inner = self._checked(maps[0], len(self))
        if rows % 2:
            raise EncryptionError("half a map of pairs", where="weights", found=rows)
        outer = self._checked(maps[1], rows // 2)
        check_key(key, special, self._basis)
        switch = check_in_memory("key", key)
        with self._kept() as second:
            return residues_native.paired_maps(
                self._first,
                self._seeds,
                second,
                (inner, outer),
                switch,
                special,
                self._basis,
            )

    def _checked(self, one: Map, inputs: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        weights, bias = one
        check_dense(weights, inputs)
        check("bias", bias, (len(weights), len(self._basis)))
        return weights, check_in_memory("bias", bias)

    def expanded(self) -> Residues:
        """The ciphertexts (d, 2, limbs, N), made when they are first asked for and kept."""
        if self._whole is None:
            self._whole = kernels.receive(self._first, self._seeds, self._basis, None)
        return self._whole

    @contextmanager
    def _kept(self) -> Iterator[tuple[NDArray[np.int32], bool] | None]:
        """Second polynomials to read, or to write on the second use if there is room.

        Two threads that write at a time write the same into arrays of their own.
        """
        shape = (len(self), len(self._basis), self._basis.ring_degree)
        if self._second is not None:
            yield self._second, True
        elif self._used and self._room.take(WORD_BYTES * math.prod(shape)):
            second = np.empty(shape, dtype=np.int32)
            yield second, False
            self._second = second
        else:
            yield None
        self._used = True


Payload: TypeAlias = "Residues | Arrivals"
"""Ciphertexts, expanded or as they arrived."""


def arrive(
    first: NDArray[np.uint8],
    seeds: NDArray[np.uint8],
    basis: Basis,
    device: Device,
    room: Room,
) -> Payload:
    """Ciphertexts of a message, checked: for the native kernels as they are, else expanded.

    Args:
        first: packed first polynomials (d, bytes), a view of the message, which must not change.
        seeds: (d, 64), a view of the message; each stands for a second polynomial.
        basis: primes of the limbs.
        device: where the ciphertexts are wanted.
        room: for second polynomials that are kept.

    Raises:
        EncryptionError: a residue is not below its prime, or the shapes do not fit.
    """
    if not kernels.available() or device is not None:
        return kernels.receive(first, seeds, basis, device)
    kernels.check_below(first, seeds, basis)
    return Arrivals(first, seeds, basis, room)


class ArrivedKey:
    """A switching key as it arrived, checked; its seeds are expanded when it is first used.

    Args:
        first, seeds, basis: as of `Arrivals`, the special prime last.
        device: where the key is wanted.

    Raises:
        EncryptionError: a residue is not below its prime, or the shapes do not fit.
    """

    def __init__(
        self, first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis, device: Device
    ) -> None:
        kernels.check_below(first, seeds, basis)
        self._message = (first, seeds, basis, device)
        self._expanded: Residues | None = None

    def expanded(self) -> Residues:
        """Residues (digits, 2, limbs, N)."""
        if self._expanded is None:
            self._expanded = kernels.receive(*self._message)
        return self._expanded


def expanded(x: Payload) -> Residues:
    """Ciphertexts as one array, whatever they were."""
    return x.expanded() if isinstance(x, Arrivals) else x
