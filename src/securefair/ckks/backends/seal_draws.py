"""What SEAL draws for an encryption under a public key: a ternary u, and errors e0 and e1.

SEAL's encryption of zero under the key (p0, p1) is (p0 u + e0, p1 u + e1). Under the key (64, 0)
it is (64 u + e0, e1), of which all three can be read, as no error exceeds 21. They do not depend on
a modulus. So it is one prime of few bits here, where an encryption under the peer's own key takes
SEAL and its way of writing nearly four times as long (decision 62).

Parameters are BFV's, whose ciphertexts are coefficients: they compress to a sixth, and nothing has
to be transformed back. Both schemes draw alike.
"""

from __future__ import annotations

import struct
from functools import lru_cache

import _sealapi_cpp as seal
import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.seal_bytes import own_pipe, read_ciphertext, write_ciphertext
from securefair.ckks.backends.seal_context import SealLoader, SealObject
from securefair.ckks.primes import ntt_primes, smallest_prime_bits
from securefair.errors import EncryptionError

LARGEST_ERROR = 21
"""Of SEAL's centred binomial: it counts 21 bits and subtracts the count of 21 others."""

_STEP_BITS = 6
_STEP = 1 << _STEP_BITS
"""The key: by more than twice the largest error, so that u and e0 can be told apart."""

KEPT_RINGS = 2
"""Contexts that stay: a peer may choose the ring, and the largest takes some megabytes."""


class Draws(SealLoader):
    """Draws for one ring degree; SEAL seeds a generator for every one, from the system's."""

    def __init__(self, ring_degree: int) -> None:
        self.prime = ntt_primes(ring_degree, smallest_prime_bits(ring_degree), 1)[0]
        literal = _literal(ring_degree, self.prime)
        super().__init__(seal.SEALContext(literal, False, seal.SEC_LEVEL_TYPE.TC128))
        self._ring_degree, self._level = ring_degree, self.seal.key_parms_id()
        self._encryptor = seal.Encryptor(self.seal, self._key())

    def _key(self) -> SealObject:
        """The key (64, 0)."""
        residues = np.zeros((2, 1, self._ring_degree), dtype=np.uint64)
        residues[0] = _STEP  # a constant is the same number at every root
        level, key = struct.pack("<4Q", *self._level), seal.PublicKey()
        self.load(key, write_ciphertext(residues, level, (self.prime,)))
        return key

    def take(self, count: int) -> NDArray[np.int32]:
        """u, e0 and e1 of so many encryptions, (3, count, N): -1, 0 or 1, and -21 to 21.

        Raises:
            EncryptionError: what was read is none of these; SEAL draws otherwise than it did.
        """
        read = np.empty((2, count, self._ring_degree), dtype=np.int32)
        ciphertext = seal.Ciphertext()
        for at in range(count):
            self._encryptor.encrypt_zero(self._level, ciphertext)
            read[:, at] = read_ciphertext(own_pipe().body(ciphertext))[0][:, 0]
        read -= (read > self.prime // 2) * np.int32(self.prime)
        drawn = np.empty((3, count, self._ring_degree), dtype=np.int32)
        ternary, errors = drawn[0], drawn[1:]
        ternary[:] = (read[0] + _STEP // 2) >> _STEP_BITS
        errors[:] = read
        errors[0] -= ternary << _STEP_BITS
        if np.abs(ternary).max(initial=0) > 1 or np.abs(errors).max(initial=0) > LARGEST_ERROR:
            raise EncryptionError("SEAL draws other errors than are expected of it")
        return drawn


def _literal(ring_degree: int, prime: int) -> SealObject:
    literal = seal.EncryptionParameters(seal.SCHEME_TYPE.BFV)
    literal.set_poly_modulus_degree(ring_degree)
    literal.set_coeff_modulus([seal.Modulus(prime)])
    literal.set_plain_modulus(seal.Modulus(2))
    return literal


@lru_cache(maxsize=KEPT_RINGS)
def draws_of(ring_degree: int) -> Draws:
    """The one of a ring degree; building it takes a few milliseconds."""
    return Draws(ring_degree)
