"""The canonical embedding in torch: real slots at zeta^(3^j) <-> real coefficients.

The same transform as `securefair.ckks.encoding`, on any device.
"""

from __future__ import annotations

from functools import cache

import torch

from securefair.ckks.encoding import slot_exponents


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
