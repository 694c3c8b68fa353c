"""Private polynomials that ciphertexts are multiplied with: what is checked before any is used."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.specs import FactorSpec, PolynomialSpec
from securefair.errors import ModelError


def check_polynomials(
    spec: PolynomialSpec, polynomials: NDArray[np.int64], ring_degree: int
) -> None:
    """Refuse polynomials beyond the public bound; they would break noise bound or flooding.

    Raises:
        ModelError: another shape than (count, N), or too long a norm.
    """
    if polynomials.shape != (spec.count, ring_degree):
        raise ModelError(
            "the polynomials' shape differs from the plan",
            found=polynomials.shape,
            expected=(spec.count, ring_degree),
        )
    norm = float(np.linalg.norm(polynomials.astype(np.float64)))
    largest = spec.integer_norm(ring_degree)
    if norm > largest * (1 + 1e-9):
        raise ModelError(
            "the norm of the polynomials exceeds the plan",
            found=f"{norm:.6g}",
            expected=f"at most {largest:.6g}",
        )


def check_factors(spec: FactorSpec, polynomials: NDArray[np.int64], ring_degree: int) -> None:
    """Refuse polynomials beyond the public bound; they would break noise bound or flooding.

    Raises:
        ModelError: another shape than (count, N), or too large a coefficient.
    """
    if polynomials.shape != (spec.count, ring_degree):
        raise ModelError(
            "the polynomials' shape differs from the plan",
            found=polynomials.shape,
            expected=(spec.count, ring_degree),
        )
    largest = max(abs(int(polynomials.max(initial=0))), abs(int(polynomials.min(initial=0))))
    if largest > spec.max_integer:
        raise ModelError(
            "a coefficient exceeds the plan",
            found=largest,
            expected=f"at most {spec.max_integer:.0f}",
        )
