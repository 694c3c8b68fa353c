"""One feature of N/2 samples in a ciphertext: for every model and every release."""

from __future__ import annotations

import math

from securefair.circuit.candidates import Candidate, kept_whole, rescaled
from securefair.circuit.certificate import layered as certified
from securefair.circuit.network import affine_specs
from securefair.circuit.packings.interface import Array, Packing, in_columns
from securefair.circuit.plan import is_masked
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.weighing import block_seconds, granting
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.rules import fresh
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.tensor import CipherMeta
from securefair.errors import PlanError

__all__ = ["PACKING", "Alone", "certified", "search"]


class Alone(Packing):
    """Samples in slots, features by themselves."""

    about = "samples in slots, a feature in a ciphertext"

    def fits(self, spec: ExchangeSpec, schedule: Schedule) -> bool:
        """Everything does."""
        return schedule.parts == 1

    def fresh(
        self, params: CkksParameters, spec: ExchangeSpec, *, log2_scale: float, parts: int
    ) -> CipherMeta:
        """A ciphertext for every feature."""
        return fresh(
            params,
            count=spec.features,
            limbs=params.limbs,
            log2_scale=log2_scale,
            bound=spec.bounds.feature,
        )

    def pack(self, spec: ExchangeSpec, schedule: Schedule, rows: Array) -> Array:
        """Columns of samples, block by block."""
        return in_columns(rows, self.places(spec, schedule))


PACKING = Alone()


def search(spec: ExchangeSpec, best: Candidate | None) -> Candidate:
    """The plan of the smallest ring that takes the least time for the model, then fewest bytes.

    Raises:
        PlanError: there is none; the hint names the nearest precision or flooding.
    """
    del best
    specs = affine_specs(spec)
    squares = sum(bounds.summed > 0 for bounds in spec.layers)
    offered: list[Candidate] = []
    for ring_degree, cap in sorted(MAX_LOG_QP.items()):
        ring = (spec, specs, ring_degree, cap)
        found = list(kept_whole(*ring))
        fitting = granting(found)
        if squares > 1 or (squares and not fitting):  # there is little to save through one square
            slowest = min((seconds for _, seconds in fitting), default=math.inf)
            more = list(rescaled(*ring, most=spec.precision, slowest=slowest))
            found, fitting = found + more, fitting + granting(more)
        if fitting:
            return min(fitting, key=block_seconds)
        offered += found
    if any(plan.relative_error <= spec.precision for plan, _ in offered):
        raise _unmasked(spec)
    nearest = min(map(_masked_error, offered), default=math.inf)
    for ring_degree, cap in sorted(MAX_LOG_QP.items()) if squares else ():
        # What is not as precise as it has to be was left out so far.
        others = rescaled(spec, specs, ring_degree, cap, most=nearest)
        nearest = min(nearest, min(map(_masked_error, others), default=math.inf))
    raise _impossible(spec, squares, nearest)


def _masked_error(candidate: Candidate) -> float:
    return candidate[0].relative_error if is_masked(candidate[0]) else math.inf


def _unmasked(spec: ExchangeSpec) -> PlanError:
    return PlanError(
        "so many numbers per class could unmask the model to a dishonest student",
        where="q",
        found=spec.q,
        expected="fewer",
        hint="Release fewer numbers, or 'logits' knowingly",
    )


def _impossible(spec: ExchangeSpec, squares: int, nearest: float) -> PlanError:
    if nearest < math.inf:
        return PlanError(
            "no parameters at 128-bit security grant this",
            where="precision",
            found=spec.precision,
            expected=f"at least {nearest:.2g}",
            hint="Allow a larger error, fewer flooding bits, or tighter bounds on the model",
        )
    return PlanError(
        "no ring has a modulus at 128-bit security that is long enough for this model",
        where="network" if spec.network else "bounds",
        found=f"{squares} squares one after the other",
        expected="fewer squares, fewer bits of weights or tighter bounds",
        hint=f"The longest modulus at 128-bit security has {max(MAX_LOG_QP.values())} bits",
    )
