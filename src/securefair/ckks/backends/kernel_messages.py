"""Between numbers, messages and residues: kernels of `kernels`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import packing
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import SEED_BYTES, check, check_message, not_below
from securefair.ckks.backends.kernel_choice import available, implementation
from securefair.ckks.backends.residues import Device, Residues, device_of
from securefair.errors import EncryptionError


def expand_seeds(seeds: Residues, basis: Basis) -> Residues:
    """Seeds uint8 (d, 64) -> the second polynomials (d, limbs, N) that SEAL makes of them."""
    check("seeds", seeds, (None, SEED_BYTES), "uint8")
    result: Residues = implementation(device_of(seeds)).expand_seeds(seeds, basis)
    return result


def pack(residues: NDArray[np.uint32], primes: Sequence[int]) -> NDArray[np.uint8]:
    """See `packing.pack`."""
    if not available():
        return packing.pack(residues, primes)
    from securefair.ckks.backends import residues_native

    return residues_native.pack(residues, primes)


def receive(
    first: NDArray[np.uint8],
    seeds: NDArray[np.uint8],
    basis: Basis,
    device: Device,
) -> Residues:
    """Ciphertexts as they arrive, in one pass -> (d, 2, limbs, N), checked and expanded.

    Args:
        first: packed first polynomials (d, bytes), a view of the message: read once, never written.
        seeds: (d, 64), a view of the message; each expands to a second polynomial.
        basis: primes of the limbs.
        device: where the ciphertexts are wanted.

    Raises:
        EncryptionError: a residue is not below its prime, or the shapes do not fit.
    """
    check_message(first, seeds, basis)
    where = () if device is None else (device,)
    received: Residues | None = implementation(device).receive(first, seeds, basis, *where)
    if received is None:
        raise not_below()
    return received


def check_below(first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis) -> None:
    """Refuse a message that `receive` would refuse; nothing is expanded.

    Raises:
        EncryptionError: see `receive`.
    """
    check_message(first, seeds, basis)
    if not available():
        residues = packing.unpack(first, basis.primes, basis.ring_degree)
        below = bool((residues < np.array(basis.primes, dtype=np.uint32)[:, None]).all())
    else:
        from securefair.ckks.backends import residues_native

        below = residues_native.message_below(first, seeds, basis)
    if not below:
        raise not_below()


def encode(slots: Residues, scale: float, basis: Basis) -> Residues:
    """Real slots float64 (d, n <= N/2), the rest zero -> plaintexts (d, limbs, N).

    Slot j is the value at zeta^(3^j), as in SEAL; coefficients are rounded to nearest. Up to N
    values are pairs x + J y, J = X^(N/2): N/2 first ones, then second ones, the rest zero.

    Raises:
        EncryptionError: a slot is not finite, or a scaled coefficient is not below 2^120.
    """
    check("slots", slots, (None, None), "float64")
    if slots.shape[1] > basis.ring_degree:
        raise EncryptionError(
            "too many slots",
            where="slots",
            found=slots.shape[1],
            expected=f"at most {basis.ring_degree}",
        )
    try:
        result: Residues = implementation(device_of(slots)).encode(slots, scale, basis)
    except ValueError as error:
        raise EncryptionError(
            "slots cannot be encoded", where="slots", found=str(error), hint="Lower the scale"
        ) from error
    return result


def decode(x: Residues, scale: float, basis: Basis) -> Residues:
    """Plaintexts (d, limbs, N) -> real parts of their slots, float64 (d, N/2).

    Exact to float rounding for any message with coefficients below half the product of primes.
    """
    check("x", x, (None, len(basis), basis.ring_degree))
    result: Residues = implementation(device_of(x)).decode(x, scale, basis)
    return result
