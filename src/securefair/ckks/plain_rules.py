"""What products with private polynomials do to limbs, scale, value bound and noise.

As in `rules`: noise is the standard deviation of a coefficient's error.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from securefair.ckks.rules import MAX_LOG2_COEFFICIENT, TAIL, fits
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


def quadratic_plain(x: CipherMeta, spec: PolynomialSpec, *, outputs: int, l1: float) -> CipherMeta:
    """sum_(k <= l) x_k(X) x_l(X^t) p_kl(X), four polynomials: see `Evaluator.quadratic_plain`.

    The error of x_k is multiplied with sum_l x_l p_kl, and again where x_k is turned. The norm of a
    product of polynomials is at most that of one times the sum of the sizes of the other.
    """
    if x.packing != "coefficients" or not x.independent or x.polys != 2:
        raise EncryptionError(
            "a form takes fresh encryptions packed in coefficients",
            found=f"{x.polys} polynomials, packed in {x.packing}",
        )
    if spec.count != x.count * (x.count + 1) // 2:
        raise EncryptionError(
            "a form of another size was applied",
            found=spec.count,
            expected=x.count * (x.count + 1) // 2,
        )
    n = x.params.ring_degree
    norm = _narrow(spec.integer_norm(n))
    # The product of two errors is no Gaussian: each may be TAIL deviations.
    both = TAIL * math.sqrt(n) * x.noise * x.noise
    return fits(
        replace(
            x,
            count=outputs,
            polys=4,
            log2_scale=2 * x.log2_scale + spec.log2_scale,
            bound=spec.bound,
            noise=norm * (2 * l1 * 2.0**x.log2_scale * x.noise + both),
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
