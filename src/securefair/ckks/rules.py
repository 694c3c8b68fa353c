"""What every operation does to limbs, scale, value bound and noise: written once.

Each rule maps the public facts of its inputs to those of its output and refuses what the
ciphertexts do not allow. All backends apply the same rules, so a plan made without any ciphertext
holds for the encrypted run.

Noise is the standard deviation of a coefficient's error (average-case analysis as in Costache,
Curtis, Hales, Murphy, Ogilvie, Player, "On the precision loss in approximate homomorphic
encryption", SAC 2023): errors of fresh encryptions are independent, everything later is added
as if fully correlated. An error of deviation v appears in a slot with deviation v sqrt(N), and
products multiply slot by slot. Errors that are multiplied by the secret, or by digits, are not
Gaussian in a slot; their deviation is raised until `TAIL` deviations bound them there too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import reduce
from itertools import repeat

from msgspec.structs import replace

from securefair.ckks.noise import divided, switching_noise, zero_noise
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.security import ERROR_STD
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta, SlotLayout
from securefair.errors import EncryptionError

TAIL = 8.0
"""Deviations that an error bound allows for: 2^-50 to either side of a value for a Gaussian."""

SCALE_TOLERANCE = 1e-6
"""Largest difference of log2 scales that counts as equal; a relative error of 2^-20."""

CLEARTEXT_ERROR = 2.0**-40
"""Relative error of cleartext arithmetic in float64: encoding, weights, biases, decoding.

It only perturbs the inputs of an evaluation that is exact from there on, so it counts towards the
error of a result but not towards the noise that flooding must hide.
"""

MAX_LOG2_ENCODED = 110
"""Encoded coefficients are doubles, whose mantissa ends far below; their integers are wide."""

MAX_LOG2_COEFFICIENT = 62
"""Polynomials become signed 64-bit integers, and so does what is multiplied with forms."""


def fresh(
    params: CkksParameters,
    *,
    count: int,
    limbs: int,
    log2_scale: float,
    bound: float,
    packing: SlotLayout = "slots",
    parts: int = 1,
) -> CipherMeta:
    """`count` symmetric encryptions."""
    if log2_scale + math.log2(bound) > MAX_LOG2_ENCODED:
        raise EncryptionError(
            "the encoded value is too wide",
            found=f"{log2_scale + math.log2(bound):.1f} bits",
            expected=f"at most {MAX_LOG2_ENCODED} bits",
        )
    return fits(
        CipherMeta(
            params=params,
            count=count,
            polys=2,
            limbs=limbs,
            log2_scale=log2_scale,
            bound=bound,
            # Encryption, and rounding of each value that is encoded.
            noise=math.hypot(ERROR_STD, math.sqrt((2 if packing == "feature pairs" else 1) / 12)),
            independent=True,
            packing=packing,
            parts=parts,
        )
    )


def linear(x: CipherMeta, spec: AffineSpec) -> CipherMeta:
    """out_o = sum_i w_oi x_i + b_o."""
    _in_slots(x, "a layer")
    if x.count != spec.inputs:
        raise EncryptionError(
            "a layer of another width was applied", found=x.count, expected=spec.inputs
        )
    growth = (spec.l2 if x.independent else spec.l1) * 2.0**spec.log2_scale
    # A row of zeros leaves no mask, so a backend may add an encryption of zero to it.
    noise = max(x.noise * growth, zero_noise(x))
    return fits(
        replace(
            x,
            count=spec.outputs,
            log2_scale=x.log2_scale + spec.log2_scale,
            bound=spec.bound,
            noise=noise + 0.5,  # the bias is rounded to an integer
            independent=False,
        )
    )


def paired_linear(x: CipherMeta, spec: AffineSpec) -> CipherMeta:
    """sum_i (w_2i - J w_2i+1) (x_2i + J x_2i+1) + b_o, whose real part is the map of all values.

    J moves coefficients and changes signs. So a coefficient of the noise is a sum of errors of
    different coefficients, weighted by the integers of a whole row.
    """
    if not x.paired or not x.independent:
        raise EncryptionError("fresh pairs of values are expected", found=f"packed in {x.packing}")
    if x.count != -(-spec.inputs // 2):
        raise EncryptionError(
            "a layer of another width was applied", found=2 * x.count, expected=spec.inputs
        )
    growth = spec.l2 * 2.0**spec.log2_scale
    noise = max(x.noise * growth, zero_noise(x))  # as of a row of zeros, see `linear`
    return fits(
        replace(
            x,
            count=spec.outputs,
            log2_scale=x.log2_scale + spec.log2_scale,
            bound=math.hypot(spec.bound, spec.l1 * x.bound),
            noise=noise + 0.5,  # the bias is rounded to an integer
            independent=False,
        )
    )


def real_part(x: CipherMeta, *, bound: float) -> CipherMeta:
    """x + conj(x), twice the first values of the pairs at twice the scale; the caller knows their
    bound.

    Errors of both summands are the same numbers in other places. The conjugate's mask is switched
    back to the key s.
    """
    if not x.paired or x.polys != 2:
        raise EncryptionError(
            "real parts are taken of pairs in two polynomials",
            found=f"{x.polys} polynomials, packed in {x.packing}",
        )
    noise = 2 * x.noise + switching_noise(x)
    return fits(replace(x, log2_scale=x.log2_scale + 1, bound=bound, noise=noise, packing="slots"))


def interleaved_linear(x: CipherMeta, spec: AffineSpec) -> CipherMeta:
    """out_o = sum_i w_oi x_i + b_o of features beside each other, k = `parts` in a ciphertext, at k
    times the scale (`ckks.interleaving`).

    A coefficient of the fresh noise is weighted as in `linear`. Switches on the way to
    z = sum_u X^u h_u add up k - 1 times, and the j-th power of g has j more. What separates the
    units takes k times the part of z that is one's own, and one of each power.
    """
    if not x.interleaved or not x.independent:
        raise EncryptionError(
            "fresh features beside each other are expected", found=f"packed in {x.packing}"
        )
    parts = x.parts
    if x.count != -(-spec.inputs // parts):
        raise EncryptionError(
            "a layer of another width was applied", found=parts * x.count, expected=spec.inputs
        )
    noise = max(x.noise * spec.l2 * 2.0**spec.log2_scale, zero_noise(x))
    switched = switching_noise(x)
    noise = parts * (noise + (parts - 1) * switched) + parts * (parts - 1) / 2 * switched
    return fits(
        replace(
            x,
            count=spec.outputs,
            log2_scale=x.log2_scale + spec.log2_scale + math.log2(parts),
            bound=spec.bound,
            noise=noise + 0.5,  # the bias is rounded to an integer
            independent=False,
            packing="slots",
        )
    )


def gathered(blocks: Sequence[CipherMeta], count: int) -> CipherMeta:
    """`count` ciphertexts picked from tensors that are otherwise alike."""
    first = with_count(blocks[0], count)
    if any(with_count(block, count) != first for block in blocks[1:]):
        kinds = sorted({f"{b.residue_shape[1:3]} at {b.log2_scale:.3f}" for b in blocks})
        raise EncryptionError(
            "ciphertexts of different kinds were gathered", found=", ".join(kinds)
        )
    return first


def add(x: CipherMeta, y: CipherMeta) -> CipherMeta:
    """Sum of two tensors of equal count, polynomials, level and scale."""
    aligned(x, y)
    return fits(
        replace(
            x,
            bound=x.bound + y.bound,
            noise=x.noise + y.noise,
            independent=False,
        )
    )


def added(x: CipherMeta, terms: int) -> CipherMeta:
    """Sum of so many tensors with the facts of x, to the last bit what `add` makes of them."""
    if terms == 1:
        return x
    bound, noise = (reduce(operator.add, repeat(each, terms)) for each in (x.bound, x.noise))
    return fits(replace(x, bound=bound, noise=noise, independent=False))


def multiply(x: CipherMeta, y: CipherMeta) -> CipherMeta:
    """Slot-wise product without relinearisation: three polynomials."""
    _in_slots(x, "a product of ciphertexts")
    _in_slots(y, "a product of ciphertexts")
    if x.limbs != y.limbs or x.params != y.params:
        raise EncryptionError(
            "factors are at different levels", found=f"{x.limbs} and {y.limbs} limbs"
        )
    if x.polys != 2 or y.polys != 2:
        raise EncryptionError(
            "factors take two polynomials each",
            found=f"{x.polys} and {y.polys}",
            hint="Relinearise first",
        )
    root_n = math.sqrt(x.params.ring_degree)
    x_size, y_size = x.bound * 2.0**x.log2_scale, y.bound * 2.0**y.log2_scale
    # Of two errors in one slot each may be TAIL deviations; their product is no Gaussian.
    both = TAIL * root_n * x.noise * y.noise
    return fits(
        replace(
            x,
            count=max(x.count, y.count),
            polys=3,
            log2_scale=x.log2_scale + y.log2_scale,
            bound=x.bound * y.bound,
            noise=x_size * y.noise + y_size * x.noise + both,
            independent=False,
        )
    )


def gathered_sum(x: CipherMeta, terms: int, *, bound: float) -> CipherMeta:
    """Sum of such tensors from `terms` parties; the caller knows the bound of the sum.

    Each party drew its own noise, so errors add up like independent ones.
    """
    return fits(replace(x, bound=bound, noise=x.noise * math.sqrt(terms)))


def total(x: CipherMeta, *, bound: float) -> CipherMeta:
    """Sum over the d ciphertexts of a tensor; the caller knows the bound of the sum."""
    return fits(replace(x, count=1, bound=bound, noise=x.noise * x.count, independent=False))


def group_sums(x: CipherMeta, groups: int, terms: int) -> CipherMeta:
    """Sums of `terms` ciphertexts each."""
    bound, noise = x.bound * terms, x.noise * terms
    return fits(replace(x, count=groups, bound=bound, noise=noise, independent=False))


def relinearize(x: CipherMeta) -> CipherMeta:
    """Back to two polynomials with the relinearisation key."""
    if x.polys != 3:
        raise EncryptionError("relinearisation takes three polynomials", found=x.polys)
    return fits(replace(x, polys=2, noise=x.noise + switching_noise(x)))


def rescale(x: CipherMeta, limbs: int, *, slots: bool = True) -> CipherMeta:
    """Divide by the last primes until `limbs` are left.

    With `slots` false only coefficients will ever be looked at. They are sums over all slots, so
    the heavy tails of single slots do not show in them.
    """
    if not 1 <= limbs <= x.limbs:
        raise EncryptionError(
            "cannot rescale to that many limbs", found=limbs, expected=f"1 to {x.limbs}"
        )
    params, log2_scale, flood = x.params, x.log2_scale, x.flood
    for at in range(x.limbs - 1, limbs - 1, -1):
        log2_scale, flood = log2_scale - params.log_primes[at], flood / params.primes[at]
    noise = divided(x.noise, x, limbs, polys=x.polys, slots=slots)
    return fits(replace(x, limbs=limbs, log2_scale=log2_scale, noise=noise, flood=flood))


def flooding(x: CipherMeta, flooding_bits: int) -> int:
    """log2 of the amplitude of the uniform flooding noise: s bits above all that it must hide."""
    return math.ceil(flooding_bits + math.log2(TAIL * math.hypot(x.noise, zero_noise(x))))


def sanitize(x: CipherMeta, flooding_bits: int) -> CipherMeta:
    """Re-randomised and flooded, so that the ciphertext tells only its plaintext.

    Pairs are refused: products of pairs tell of the weights what no release names.
    """
    if x.paired:
        raise EncryptionError("pairs are no answer", hint="Take their real part first")
    if x.interleaved:
        raise EncryptionError("features beside each other are no answer")
    flood = 2.0 ** flooding(x, flooding_bits)
    noise = math.hypot(x.noise, zero_noise(x), flood / math.sqrt(3))
    return fits(replace(x, noise=noise, flood=flood, independent=False))


def slot_error(x: CipherMeta) -> float:
    """Bound on the error of a decrypted slot, in value units.

    Of a polynomial in X^parts only its own coefficients are opened.
    """
    opened = x.params.ring_degree // x.parts
    noise = TAIL * x.noise * math.sqrt(opened) * float(2.0**-x.log2_scale)
    return noise + x.bound * CLEARTEXT_ERROR


def coefficient_error(x: CipherMeta) -> float:
    """Bound on the error of a decrypted coefficient of the message polynomial, in value units."""
    return TAIL * x.noise * float(2.0**-x.log2_scale) + x.bound * CLEARTEXT_ERROR


def aligned(x: CipherMeta, y: CipherMeta) -> None:
    """Refuse a sum of tensors whose encodings differ."""
    same = (x.params, x.packing, x.residue_shape) == (y.params, y.packing, y.residue_shape)
    if not same or abs(x.log2_scale - y.log2_scale) > SCALE_TOLERANCE:
        raise EncryptionError(
            "summands differ in count, packing, polynomials, level or scale",
            found=f"{x.residue_shape[:3]} at {x.log2_scale:.3f} and "
            f"{y.residue_shape[:3]} at {y.log2_scale:.3f}",
        )


def paired(x: CipherMeta, y: CipherMeta) -> None:
    """Refuse a product, ciphertext by ciphertext, of tensors of different lengths."""
    if x.count != y.count:
        raise EncryptionError("factors differ in count", found=f"{x.count} and {y.count}")


def _in_slots(x: CipherMeta, what: str) -> None:
    if x.packing != "slots":
        raise EncryptionError(f"{what} works on slots only", found=f"packed in {x.packing}")


def fits(x: CipherMeta) -> CipherMeta:
    """Refuse a value that could wrap around the modulus."""
    left = room(x)
    if not left >= 0:  # NaN, of infinite noise, does not fit
        most = x.log_q - 1
        raise EncryptionError(
            "the value would wrap around the modulus",
            found=f"{most - left:.1f} bits",
            expected=f"at most {most:.1f} bits at {x.limbs} limbs",
        )
    return x


def room(x: CipherMeta) -> float:
    """Bits of the modulus above a value and its noise."""
    # Relative to the scale: planners try scales that no float64 holds.
    scale = x.log2_scale
    largest = scale + math.log2(x.bound + TAIL * x.noise * 2.0**-scale)
    return x.params.log_q(x.limbs) - 1 - largest


def with_count(x: CipherMeta, count: int) -> CipherMeta:
    """The same facts for another number of ciphertexts."""
    return replace(x, count=count)
