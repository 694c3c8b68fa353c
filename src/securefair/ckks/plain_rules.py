"""What products with private polynomials do to limbs, scale, value bound and noise.

As in `rules`: noise is the standard deviation of a coefficient's error.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from securefair.ckks.rules import MAX_LOG2_COEFFICIENT, fits
from securefair.ckks.specs import FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta
from securefair.errors import EncryptionError


def inner_plain(x: CipherMeta, spec: PolynomialSpec) -> CipherMeta:
    """sum_i x_i(X) p_i(X) as one ciphertext: an inner product in its constant coefficient.

    A coefficient of the error polynomial times p_i is a sum of independent errors weighted by
    the coefficients of p_i.
    """
    if x.packing != "coefficients" or not x.independent or x.polys != 2:
        raise EncryptionError(
            "an inner product takes fresh encryptions packed in coefficients",
            found=f"{x.polys} polynomials, packed in {x.packing}",
        )
    if x.count != spec.count:
        raise EncryptionError(
            "an inner product of another length was applied", found=x.count, expected=spec.count
        )
    norm = _narrow(spec.integer_norm(x.params.ring_degree))
    return fits(
        replace(
            x,
            count=1,
            log2_scale=x.log2_scale + spec.log2_scale,
            bound=spec.bound,
            noise=x.noise * norm,
            independent=False,
        )
    )


def outer_plain(x: CipherMeta, spec: FactorSpec) -> CipherMeta:
    """x(X) p_c(X) for one ciphertext x and every polynomial p_c, packed in coefficients.

    A coefficient of the error polynomial times p_c is a sum of independent errors weighted by the
    N coefficients of p_c.
    """
    if x.count != 1 or not x.independent or x.polys != 2:
        raise EncryptionError(
            "polynomials are multiplied with one fresh encryption",
            found=f"{x.count} of {x.polys} polynomials",
        )
    return fits(
        replace(
            x,
            count=spec.count,
            log2_scale=x.log2_scale + spec.log2_scale,
            bound=spec.bound,
            noise=x.noise * math.sqrt(x.params.ring_degree) * spec.max_integer,
            independent=False,
            packing="coefficients",
        )
    )


def _narrow(norm: float) -> float:
    """The norm of polynomials whose coefficients fit signed words."""
    if math.log2(norm) > MAX_LOG2_COEFFICIENT:
        raise EncryptionError(
            "the polynomials are too wide",
            found=f"{math.log2(norm):.1f} bits",
            expected=f"at most {MAX_LOG2_COEFFICIENT} bits",
        )
    return norm
