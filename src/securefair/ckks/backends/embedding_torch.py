"""The canonical embedding in torch: real slots at zeta^(3^j) <-> real coefficients.

The same transform as `securefair.ckks.encoding`, on any device, with the rounding to residues.
"""

from __future__ import annotations

import math
from functools import cache

import torch

from securefair.ckks.backends.basis import Basis
from securefair.ckks.encoding import slot_exponents

_WORD_BITS = 60  # of the high part of an encoded coefficient beyond 64 bits
_MAX_ENCODED_BITS = 120


@cache
def _positions(ring_degree: int, device: torch.device) -> torch.Tensor:
    """Where slot j sits among the odd powers of zeta: exponent 2t + 1 at t."""
    return torch.tensor(slot_exponents(ring_degree) // 2, device=device)


@cache
def _twist(ring_degree: int, device: torch.device) -> torch.Tensor:
    angles = torch.arange(ring_degree, dtype=torch.float64, device=device)
    return torch.exp(-1j * torch.pi * angles / ring_degree)


def slots_to_coefficients(slots: torch.Tensor, ring_degree: int) -> torch.Tensor:
    """float64 (d, n <= N), the other slots zero, -> (d, N); beyond N/2 as of `kernels.encode`."""
    n, half = ring_degree, ring_degree // 2
    if slots.shape[-1] > half:
        first = slots_to_coefficients(slots[..., :half], n)
        second = slots_to_coefficients(slots[..., half:], n)
        moved: torch.Tensor = first + torch.cat([-second[:, half:], second[:, :half]], dim=-1)
        return moved
    where = _positions(n, slots.device)[: slots.shape[-1]]
    values = slots.new_zeros((len(slots), n))
    values[:, where] = slots
    values[:, n - 1 - where] = slots  # complex conjugate roots carry the same real value
    spectrum: torch.Tensor = torch.fft.fft(values)
    coefficients: torch.Tensor = (spectrum * _twist(n, slots.device)).real / n
    return coefficients


def coefficients_to_slots(coefficients: torch.Tensor) -> torch.Tensor:
    """float64 (d, N) -> real parts of the slots (d, N/2)."""
    n, device = coefficients.shape[-1], coefficients.device
    spectrum: torch.Tensor = torch.fft.ifft(coefficients * _twist(n, device).conj(), norm="forward")
    return spectrum.real[:, _positions(n, device)]


def slots_to_integers(slots: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """Slots as of `kernels.encode` -> rounded coefficients int32 (d, limbs, N), modulo the primes.

    Raises:
        ValueError: a coefficient is not finite, or not below 2^120.
    """
    values = slots_to_coefficients(slots, basis.ring_degree) * scale
    if not bool((values.abs() < 2.0**_MAX_ENCODED_BITS).all()):
        raise ValueError(f"a scaled coefficient is not below 2^{_MAX_ENCODED_BITS}")
    p = torch.tensor(basis.primes, device=slots.device)[:, None]
    unit = math.ldexp(1.0, _WORD_BITS)
    high = (values / unit).round()
    low = (values - high * unit).round().long()
    residues = (high.long()[:, None] % p) * ((1 << _WORD_BITS) % p) + low[:, None] % p
    return (residues % p).to(torch.int32)


def integers_to_slots(rows: torch.Tensor, scale: float, basis: Basis) -> torch.Tensor:
    """Coefficients int32 (d, limbs, N) -> slots (d, N/2).

    Mixed-radix digits e_k, each centred: value = e_0 + p_0 (e_1 + p_1 (e_2 + ..)). The high
    digits of small values are zero, so that the sum in floats is accurate.
    """
    digits: list[torch.Tensor] = []
    for k, p in enumerate(basis.primes):
        row = rows[:, k].long()
        for digit, q in zip(digits, basis.primes, strict=False):
            row = (row - digit) * pow(q, -1, p) % p
        digits.append((row + (p >> 1)) % p - (p >> 1))
    value = digits[-1].double()
    for digit, p in zip(digits[-2::-1], basis.primes[-2::-1], strict=False):
        value = value * p + digit
    return coefficients_to_slots(value / scale)
