"""The student's side of the rns backend: SEAL encrypts zeros and decrypts, kernels do the rest.

An encryption of a message is an encryption of zero with the encoded message added to its first
polynomial: SEAL samples and multiplies with the key, encoding is arithmetic on the student's own
data at home.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import kernels, wire
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.residues import in_memory
from securefair.ckks.backends.seal_context import SealContext, SealObject
from securefair.ckks.backends.seal_keys import (
    SealDecryptor,
    check_width,
    decrypt_residues,
)
from securefair.ckks.backends.zero_pool import ZeroPool
from securefair.ckks.encoding import Integers, coefficient_residues
from securefair.ckks.tensor import CipherMeta

ENCODED_AT_ONCE = 16
"""Ciphertexts whose plaintexts stay in the cache until they are added."""


class ResidueEncryptor:
    """Symmetric, seeded encryption of whole matrices."""

    def __init__(self, context: SealContext, secret: SealObject) -> None:
        self._zeros = ZeroPool(context, secret)

    def encrypt(self, values: NDArray[np.float64], meta: CipherMeta) -> bytes:
        """Real values (d, n <= width) -> upload; otherwise as `SealEncryptor.encrypt`."""
        check_width(values, meta)
        first, seeds = self._zeros.take(meta.limbs, meta.count)
        for start in range(0, meta.count, ENCODED_AT_ONCE):
            part = slice(start, start + ENCODED_AT_ONCE)
            rows = first[part].view(np.int32)
            for row, plain in zip(rows, encoded(values[part], meta), strict=True):
                kernels.add_(row, plain, _basis(meta))
        return wire.join_upload(kernels.pack(first, _basis(meta).primes), seeds)


class ResidueDecryptor(SealDecryptor):
    """See `SealDecryptor`; transforms by the kernels."""

    def _decrypt(self, residues: NDArray[np.uint32], meta: CipherMeta) -> NDArray[np.uint64]:
        """Ciphertexts (d, polys, limbs, N) -> message residues (d, limbs, N), coefficients."""
        plain = decrypt_residues(self._context, self._secret, residues.astype(np.uint64))
        message = plain.astype(np.int32)
        kernels.ntt_inverse_(message, _basis(meta))
        return message.astype(np.uint64)


def encoded(values: NDArray[np.float64], meta: CipherMeta) -> NDArray[np.int32]:
    """Plaintexts (d, limbs, N) of values (d, n)."""
    basis = _basis(meta)
    if meta.packing == "coefficients":
        whole = coefficient_residues(values, meta.log2_scale, meta.width, basis.primes)
        residues: NDArray[np.int32] = whole.astype(np.int32)
        kernels.ntt_forward_(residues, basis)
        return residues
    scale = 2.0**meta.log2_scale
    slots = np.ascontiguousarray(values, dtype=np.float64)
    return in_memory(kernels.encode(slots, scale, basis))


def polynomial_residues(polynomials: Integers, basis: Basis) -> NDArray[np.int32]:
    """Integer coefficients (d, N) -> residues (d, limbs, N) in NTT form."""
    primes = np.array(basis.primes, dtype=np.int64)[:, None]
    residues: NDArray[np.int32]
    if np.abs(polynomials).max(initial=0) < primes.min():  # nearly always: no division then
        small = polynomials.astype(np.int32)[:, None]
        residues = (small >> 31) & primes.astype(np.int32)  # the prime where one is negative
        residues += small
    else:
        residues = (polynomials[:, None] % primes).astype(np.int32)
    kernels.ntt_forward_(residues, basis)
    return residues


def _basis(meta: CipherMeta) -> Basis:
    return Basis(meta.params.ring_degree, meta.params.primes[: meta.limbs])
