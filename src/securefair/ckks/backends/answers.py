"""Masking and adding answers as they travel: residues of the format in `wire`, no key needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import wire
from securefair.ckks.keys import Backend
from securefair.ckks.tensor import CipherMeta
from securefair.errors import EncryptionError


class WireBackend(Backend):
    """A backend whose answers have the format of `wire`."""

    def mask_answer(
        self, meta: CipherMeta, coefficients: int, data: bytes, masks: NDArray[np.uint32]
    ) -> bytes:
        """See `Backend`. A residue plus a uniform one is uniform: nothing of it is left to see."""
        polynomials, values = wire.read_answer(data, meta, coefficients)
        if masks.shape != values.shape:
            raise EncryptionError(
                "masks do not fit the answer", found=masks.shape, expected=values.shape
            )
        return wire.write_answer(polynomials, _sum(values, masks, _primes(meta)))

    def add_answers(self, meta: CipherMeta, coefficients: int, answers: Sequence[bytes]) -> bytes:
        """See `Backend`. Ciphertexts under one key add polynomial by polynomial."""
        if not answers:
            raise EncryptionError("there are no answers to add")
        primes = _primes(meta)
        polynomials, values = wire.read_answer(answers[0], meta, coefficients)
        for data in answers[1:]:
            more, further = wire.read_answer(data, meta, coefficients)
            polynomials = _sum(polynomials, more, primes[:, None])
            values = _sum(values, further, primes)
        return wire.write_answer(polynomials, values)


def _primes(meta: CipherMeta) -> NDArray[np.uint64]:
    return np.array(meta.params.primes[: meta.limbs], dtype=np.uint64)


def _sum(
    a: NDArray[np.uint32], b: NDArray[np.uint32], primes: NDArray[np.uint64]
) -> NDArray[np.uint32]:
    total: NDArray[np.uint32] = ((a.astype(np.uint64) + b) % primes).astype(np.uint32)
    return total
