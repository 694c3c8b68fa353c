"""Up to 64 features of few samples in a ciphertext, which a rotation separates again."""

from __future__ import annotations

from securefair.circuit.admission import lean
from securefair.circuit.candidates import Candidate, kept_whole
from securefair.circuit.certificate import layered as certified
from securefair.circuit.network import affine_specs
from securefair.circuit.packings.interface import Array, Indices, Packing
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.weighing import WORTH, exchange_cost, granting
from securefair.ckks.backends.wire import WORD
from securefair.ckks.encoding import to_slots
from securefair.ckks.interleaving import SHIFTED_AT_ONCE, element, interleave, suits
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.rules import fresh
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.tensor import CipherMeta

__all__ = ["MAX_PARTS", "PACKING", "Beside", "certified", "search"]

NAME = "beside"

MAX_PARTS = 64
"""The noise of the key switches that separate hidden units grows with the square of it."""

PARTS = tuple(MAX_PARTS >> halvings for halvings in range(MAX_PARTS.bit_length() - 1))
"""Features beside each other: powers of two, most first."""


class Beside(Packing):
    """Logits of heads with a square; see decision 30 and `ckks.interleaving`."""

    about = "samples in slots, features beside each other in a ciphertext"
    coefficients = True
    galois_name = "rotation"

    def fits(self, spec: ExchangeSpec, schedule: Schedule) -> bool:
        """As far as the samples fit."""
        n, parts = schedule.ckks.ring_degree, schedule.parts
        return (
            _may_travel(spec)
            and 1 < parts <= MAX_PARTS
            and suits(n, parts)
            and 2 * spec.samples * parts <= n
        )

    def fresh(
        self, params: CkksParameters, spec: ExchangeSpec, *, log2_scale: float, parts: int
    ) -> CipherMeta:
        """A ciphertext for every `parts` features."""
        return fresh(
            params,
            count=-(-spec.features // parts),
            limbs=params.limbs,
            log2_scale=log2_scale,
            bound=spec.bounds.feature,
            packing="coefficients",
            parts=parts,
        )

    def pack(self, spec: ExchangeSpec, schedule: Schedule, rows: Array) -> Array:
        """One block: coefficients of polynomials in X^parts, shifted by X^f."""
        return interleave(rows.T, schedule.parts, schedule.ckks.ring_degree)[None]

    def held_bytes(self, spec: ExchangeSpec, schedule: Schedule) -> int:
        """Products, hidden units twice, transforms of a group, shifted features."""
        polynomial = len(schedule.ckks.limb_bits) * schedule.ckks.ring_degree * WORD
        shifted = 2 * max(SHIFTED_AT_ONCE, schedule.parts)
        return (8 * spec.hidden + 16 * schedule.parts + shifted) * polynomial

    def galois_element(self, schedule: Schedule) -> int:
        """A rotation that keeps polynomials in X^parts."""
        return element(schedule.ckks.ring_degree, schedule.parts)

    def opens_slots(self, leaving: Indices | None) -> bool:
        """All coefficients of the small ring."""
        return True

    def opened(self, spec: ExchangeSpec, schedule: Schedule, values: Array) -> Array:
        """Slots of the small ring."""
        return to_slots(values)


PACKING = Beside()


def search(spec: ExchangeSpec, best: Candidate | None) -> Candidate | None:
    """The best plan, if one is worth it.

    As many beside each other as the samples leave room for, or fewer: their key switches take less
    time and noise, their upload more bytes. Of those that are worth it, one that takes a little
    more than the cheapest is better where it lets fewer numbers out.
    """
    if not _may_travel(spec):
        return None
    specs = affine_specs(spec)
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        found: list[Candidate] = []
        for parts in PARTS:
            if suits(ring_degree, parts) and 2 * spec.samples * parts <= ring_degree:
                ways = kept_whole(spec, specs, ring_degree, cap, packing=NAME, parts=parts)
                found += granting(lean(ways))
        if found:
            worth_it = [way for way in found if best is None or _worth_it(way, best)]
            least = min(map(exchange_cost, worth_it), default=0.0)
            near = [way for way in worth_it if WORTH * exchange_cost(way) <= least]
            return min(near, key=lambda w: (w[0].numbers, exchange_cost(w)), default=None)
    return None


def _may_travel(spec: ExchangeSpec) -> bool:
    return spec.leaves.whole and not spec.network and spec.hidden > 0


def _worth_it(beside: Candidate, other: Candidate) -> bool:
    """It may take a little more where it lets fewer numbers out, and must take clearly less where
    it does not."""
    worth = WORTH if beside[0].numbers < other[0].numbers else 1 / WORTH
    return exchange_cost(other) >= worth * exchange_cost(beside)
