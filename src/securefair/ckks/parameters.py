"""Literal, unchecked `CkksSpec` becomes checked, immutable `CkksParameters`."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import msgspec
from msgspec.structs import replace

from securefair.ckks.primes import MAX_LIMB_BITS, ntt_primes
from securefair.ckks.security import MAX_LOG_QP, SECURITY_BITS
from securefair.errors import PlanError


class CkksSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What parameters are wished for. Nothing is checked here; `CkksParameters` checks.

    Attributes:
        ring_degree: N, a power of two; N / 2 slots.
        limb_bits: bit length of each data prime; a ciphertext drops them from the last.
        special_bits: bit length of the key-switching prime. The library that holds the keys
            always reserves one; where nothing is key-switched it may be small.
    """

    ring_degree: int
    limb_bits: tuple[int, ...]
    special_bits: int


@dataclass(frozen=True)
class CkksParameters:
    """Concrete primes for a spec, within the modulus that 128-bit security allows.

    Raises:
        PlanError: unknown ring degree, limb sizes that are too small for primes of 1 mod 2N or
            above 31 bits, or a modulus above the security cap.
    """

    spec: CkksSpec

    def __post_init__(self) -> None:
        spec = self.spec
        cap = MAX_LOG_QP.get(spec.ring_degree)
        if cap is None:
            raise PlanError(
                "unsupported ring degree",
                where="ring_degree",
                found=spec.ring_degree,
                expected=sorted(MAX_LOG_QP),
            )
        bits = (*spec.limb_bits, spec.special_bits)
        lowest = spec.ring_degree.bit_length() + 1
        if not spec.limb_bits or any(not lowest <= b <= MAX_LIMB_BITS for b in bits):
            raise PlanError(
                "every prime must fit 32-bit words and be 1 mod 2N",
                where="limb_bits",
                found=bits,
                expected=f"{lowest} to {MAX_LIMB_BITS} bits",
            )
        try:
            log_qp = self.log_qp
        except ValueError as error:
            raise PlanError("too few primes", where="limb_bits", found=str(error)) from error
        if log_qp > cap:
            raise PlanError(
                f"the modulus is too large for {SECURITY_BITS}-bit security at this ring degree",
                where="limb_bits",
                found=f"{log_qp:.1f} bits",
                expected=f"at most {cap} bits at N = {spec.ring_degree}",
                hint="Use the next larger ring degree, or fewer limbs",
            )

    @cached_property
    def _all_primes(self) -> tuple[int, ...]:
        bits = (*self.spec.limb_bits, self.spec.special_bits)
        pools = {b: iter(ntt_primes(self.spec.ring_degree, b, bits.count(b))) for b in set(bits)}
        # The special prime is drawn first: key-switching noise falls with its size.
        special = next(pools[self.spec.special_bits])
        return (*(next(pools[b]) for b in self.spec.limb_bits), special)

    def prefix(self, limbs: int) -> CkksParameters:
        """The first `limbs` data primes and the special one: those of keys for ciphertexts that
        have no more limbs."""
        if limbs == self.limbs:
            return self
        return CkksParameters(replace(self.spec, limb_bits=self.spec.limb_bits[:limbs]))

    @cached_property
    def ring_degree(self) -> int:
        """N: coefficients of a ciphertext polynomial."""
        return self.spec.ring_degree

    @property
    def slots(self) -> int:
        """N / 2: samples in one block."""
        return self.spec.ring_degree // 2

    @cached_property
    def primes(self) -> tuple[int, ...]:
        """Data primes, in the order of the limbs."""
        return self._all_primes[:-1]

    @cached_property
    def special_prime(self) -> int:
        """The key-switching prime."""
        return self._all_primes[-1]

    @cached_property
    def limbs(self) -> int:
        """Number of data primes: limbs of a fresh ciphertext."""
        return len(self.spec.limb_bits)

    @cached_property
    def log_primes(self) -> tuple[float, ...]:
        """log2 of each data prime."""
        return tuple(map(math.log2, self.primes))

    @cached_property
    def _log_q(self) -> tuple[float, ...]:
        # Planning asks for these some hundred thousand times.
        bits = self.log_primes
        return tuple(math.fsum(bits[:limbs]) for limbs in range(len(bits) + 1))

    def log_q(self, limbs: int) -> float:
        """log2 of the product of the first `limbs` primes."""
        return self._log_q[limbs]

    @cached_property
    def _norms(self) -> tuple[float, ...]:
        return tuple(math.hypot(*self.primes[:limbs]) for limbs in range(self.limbs + 1))

    def norm(self, limbs: int) -> float:
        """Euclidean norm of the first `limbs` primes."""
        return self._norms[limbs]

    @property
    def log_qp(self) -> float:
        """log2 of the product of all primes, the special one included."""
        return math.fsum(math.log2(p) for p in self._all_primes)

    @cached_property
    def transform_exactly(self) -> bool:
        """Whether residues modulo one prime are transformed exactly modulo every other.

        The native transform lets values grow by 2p a stage within 32 bits, and reduces residues
        modulo a larger prime first only above 4p (`native/ntt.cpp`). Below that they may leave too
        little room: at N = 32768 those of some primes of 29 bits under one of 27.
        """
        stages = self.ring_degree.bit_length() - 1
        return not any(
            prime <= (1 << 32) - 2 * prime * stages < other <= 4 * prime
            for prime in self._all_primes
            for other in self.primes
        )

    @property
    def digest(self) -> bytes:
        """32 bytes that two participants compare before they trust each other's bytes."""
        text = repr((self.ring_degree, self._all_primes)).encode()
        return hashlib.sha256(b"securefair ckks parameters\0" + text).digest()
