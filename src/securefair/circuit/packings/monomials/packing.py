"""The packing itself: see `forms` for what is computed and `plans` for which parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from securefair.circuit.network import Chunk, PrivateMap
from securefair.circuit.packings.interface import Array, Indices, Packing
from securefair.circuit.packings.monomials import forms
from securefair.circuit.packings.monomials.certified import certified
from securefair.circuit.packings.monomials.plans import parts_for, search, travels_so
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.rules import fresh
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor

__all__ = ["PACKING", "Monomials", "certified", "search"]

P = TypeVar("P")

SPARE_FORM_BITS = 8
"""Beyond what a number needs: 5 to 7 in plans of the search. A dishonest student chooses what is
added up in one number, and more bits would hold a second entry of a form."""


class Monomials(Packing):
    """Products of the features of few samples, in coefficients; see decisions 25 and 34."""

    about = "products of a sample's features in coefficients"
    coefficients = True
    layered = False

    def fits(self, spec: ExchangeSpec, schedule: Schedule) -> bool:
        """Heads whose logits are not multiplied."""
        return (
            travels_so(spec)
            and schedule.parts == parts_for(spec, schedule.ckks.ring_degree)
            and not schedule.relinearize
            and schedule.factor_scale.is_integer()
        )

    def fresh(
        self, params: CkksParameters, spec: ExchangeSpec, *, log2_scale: float, parts: int
    ) -> CipherMeta:
        """Ciphertexts of a block of monomials."""
        return fresh(
            params,
            count=forms.layout(spec, params.ring_degree, parts).ciphertexts,
            limbs=params.limbs,
            log2_scale=log2_scale,
            bound=forms.monomials_bound(spec),
            packing="coefficients",
        )

    def pack(self, spec: ExchangeSpec, schedule: Schedule, rows: Array) -> Array:
        """Sample by sample, or monomials beside each other."""
        return forms.pack_monomials(spec, schedule, rows)

    def blocks(self, spec: ExchangeSpec, schedule: Schedule) -> int:
        """See `forms.Layout`."""
        return forms.layout_of(spec, schedule).blocks

    def places(self, spec: ExchangeSpec, schedule: Schedule) -> int:
        """See `forms.Layout`."""
        return forms.layout_of(spec, schedule).samples

    def logits(
        self,
        evaluator: Evaluator[P],
        spec: ExchangeSpec,
        schedule: Schedule,
        specs: Sequence[AffineSpec],
        maps: Sequence[PrivateMap | None],
        blocks: Sequence[CipherTensor[P] | Sequence[Chunk[P]]],
    ) -> list[CipherTensor[P]]:
        """One inner product a class: neither a square nor a key."""
        form = forms.form_spec(spec, schedule)
        polynomials = forms.form_polynomials(spec, schedule, specs, maps)
        whole = [block for block in blocks if isinstance(block, CipherTensor)]
        return [forms.monomial_logits(evaluator, block, form, polynomials) for block in whole]

    def leaving(
        self, spec: ExchangeSpec, schedule: Schedule, chosen: Indices | None
    ) -> Indices | None:
        """Those of logits, or powers of X^parts."""
        if chosen is None:
            return forms.layout_of(spec, schedule).coefficients
        return schedule.parts * chosen

    def count(self, spec: ExchangeSpec, schedule: Schedule, chosen: int | None) -> int | None:
        """As many."""
        return forms.layout_of(spec, schedule).samples if chosen is None else chosen

    def opens_slots(self, leaving: Indices | None) -> bool:
        """Coefficients."""
        return False

    def all_may_show(self) -> bool:
        """A dishonest student chooses what the numbers are of."""
        return False

    def spare_bits(self, spec: ExchangeSpec, schedule: Schedule) -> float:
        """Of sums more, as each coefficient is so much finer than a logit."""
        finer = 0.0 if spec.leaves.whole else math.log2(self.ring_degree(schedule)) / 2
        return SPARE_FORM_BITS + finer

    def rounding(self, spec: ExchangeSpec, schedule: Schedule) -> float:
        """Of the forms to integers."""
        return forms.rounding_error(spec, schedule)


PACKING = Monomials()
