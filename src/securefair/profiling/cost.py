"""How much work a step is: counts that hold on every machine.

The model, for d ciphertexts of p polynomials with L limbs of N residues (docs/decisions/0004):

    linear H x d      H d p L N multiply-adds; of a network only the products there are
    square            3 d L N multiply-adds; other products 4 L N each
    transform         N/2 log2 N multiply-adds, one a butterfly
    pairs             of d pairs of features 2 H d p L N multiply-adds, H p L N to join them; of
                      samples H d p L N, H L N for the second bias, 2 H p L N to separate them
    inner products    of d ciphertexts with polynomials: d L transforms, d p L N multiply-adds
    quadratic forms   of d ciphertexts, c classes: c d (d + 1) / 2 L transforms, and 2 L N
                      multiply-adds for each; 4 c d L N
    relinearise       a digit for every limb: L transforms back, L^2 forth, 2 L (L + 1) N
                      multiply-adds with the key, and a division by the special prime; conjugates
                      are switched alike
    divide k limbs    of a polynomial: k transforms back, L - k forth, (L - k) (k + 1) N
    encryption of 0   made one prime higher: 5 (L + 1) transforms
    expand a seed     d L N residues from a hash; no multiply-adds

Operations that no answer takes have no cost here.

Bytes: every operation reads its inputs once and writes its output once, four bytes a residue; no
credit for what stays in a cache, no charge for what is read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from securefair.ckks.tensor import CipherMeta
from securefair.profiling.trace import TracedStep

WORD = 4


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Work of one or more steps.

    Attributes:
        multiply_adds: modular, of 31-bit residues; those of transforms and encryptions included.
        transforms: transforms of one polynomial with one limb, forward or back.
        encryptions: encryptions of zero, under a public key.
        expanded: residues made from seeds.
        bytes: read and written.
    """

    multiply_adds: int = 0
    transforms: int = 0
    encryptions: int = 0
    expanded: int = 0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        """Work of both."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        return Cost(**sums)


def total(costs: Iterable[Cost]) -> Cost:
    """Work of all."""
    return sum(costs, Cost())


def cost(step: TracedStep) -> Cost:
    """Work of one step, as often as it happens."""
    once = _once(step)
    return Cost(
        **{name: step.times * getattr(once, name) for name in Cost.__struct_fields__},
    )


def _once(step: TracedStep) -> Cost:
    out, n = step.output, step.output.params.ring_degree
    limbs, count = out.limbs, out.count
    multiply_adds = transforms = encryptions = expanded = 0
    read = sum(_residues(meta) for meta in step.inputs)
    written = _residues(out)
    match step.operation:
        case "load":
            expanded = written // 2
            read = written // 2
        case "linear":
            products = step.products or step.inputs[0].count * count
            multiply_adds = products * out.polys * limbs * n
        case "paired_linear":
            weights = 2 * step.inputs[0].count * count
            multiply_adds = (weights + count) * out.polys * limbs * n
        case "interleaved_linear":
            features, parts = step.inputs[0], step.inputs[0].parts
            groups = -(-count // parts)
            transforms, multiply_adds = _switched(2 * groups * (parts - 1), limbs, n)
            inputs = features.count * parts
            shifts = inputs + 2 * count + groups * parts * int(math.log2(parts))
            multiply_adds += (inputs * count + shifts) * out.polys * limbs * n
            read += 2 * limbs * (limbs + 1) * n  # the key
        case "add" | "subtract":
            multiply_adds = written
        case "square":
            multiply_adds = written  # c0^2, c0 c1, c1^2
        case "square_sums":
            multiply_adds = 3 * step.inputs[0].count * limbs * n
        case "multiply" | "outer":
            multiply_adds = 4 * count * limbs * n
        case "inner":
            multiply_adds = 4 * step.inputs[0].count * limbs * n
        case "inner_plain":
            transforms = step.inputs[0].count * limbs
            multiply_adds = step.inputs[0].count * out.polys * limbs * n
        case "gather":
            read = written
        case "relinearize" | "real_part":
            transforms, multiply_adds = _switched(count, limbs, n)
            dropped = step.inputs[0].limbs - limbs
            if dropped:  # first; what is added to the switched polynomials needs no transforms
                transforms += count * (3 * dropped + limbs)
                multiply_adds += count * 3 * _division(limbs + dropped, dropped)[1] * n
            read += 2 * limbs * (limbs + 1) * n  # the key
        case "rescale":
            before = step.inputs[0].limbs
            each = _division(before, before - limbs)
            transforms = count * out.polys * each[0]
            multiply_adds = count * out.polys * each[1] * n
        case "sanitize":
            encryptions = count * (out.polys - 1)
            transforms = count * limbs + encryptions * 5 * (limbs + 1)
            read += encryptions * 2 * limbs * n
        case "extract":
            transforms = 0 if step.coefficients is None else count * limbs
        case _:
            raise ValueError(f"no cost is known for {step.operation!r}")
    butterflies = n // 2 * int(math.log2(n))
    return Cost(
        multiply_adds=multiply_adds + transforms * butterflies,
        transforms=transforms,
        encryptions=encryptions,
        expanded=expanded,
        bytes=WORD * (read + written),
    )


def _residues(meta: CipherMeta) -> int:
    return math.prod(meta.residue_shape)


def _switched(count: int, limbs: int, n: int) -> tuple[int, int]:
    """Transforms and multiply-adds of so many key switches."""
    division = _division(limbs + 1, 1)
    transforms = count * (limbs + limbs * limbs + 2 * division[0])
    return transforms, count * (2 * limbs * (limbs + 1) + 2 * division[1]) * n


def _division(limbs: int, dropped: int) -> tuple[int, int]:
    """Transforms, and multiply-adds a coefficient, to divide a polynomial by its last primes."""
    left = limbs - dropped
    return dropped + left, left * (dropped + 1) + dropped * (dropped - 1) // 2
