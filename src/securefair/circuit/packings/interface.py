"""What a packing is to a plan, to a student and to a teacher.

A module of a packing has three names, which `register` finds:

    PACKING     facts, layout and evaluation: a `Packing`
    search      (spec, best plan so far or None) -> its own where that is worth it, or None
    certified   exact facts of the logits, for `circuit.certificate`

Coefficients of answers are those of a ring: all of the ciphertext's, or of polynomials in X^k, of
which there are N / k. A release names coefficients of that ring, and a packing says where they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.network import Chunk, PrivateMap, network_logits
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import memory
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor

P = TypeVar("P")
Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SPARE_BITS = 20
"""What plans of the search carry beyond the precision of a logit: 2 to 10 of heads (a coefficient
is sqrt(N) times finer than a logit, and bounds allow for eight deviations), up to 19 of networks
with two squares, whose values leave room below the modulus."""


class Packing(ABC):
    """One way for samples to travel.

    Attributes:
        about: one line, for whoever reads a plan.
        layered: the model is evaluated layer by layer, as `Schedule.stages` say.
        coefficients: values are encrypted as coefficients, which not every backend does.
        galois_name: what its Galois key is called; "" where it has none. Its switch takes a special
            prime of full size.
    """

    about: str
    coefficients = False
    layered = True
    galois_name = ""

    @abstractmethod
    def fits(self, spec: ExchangeSpec, schedule: Schedule) -> bool:
        """Whether a schedule may be of this packing, whoever made it; checked before it is run."""

    @abstractmethod
    def fresh(
        self, params: CkksParameters, spec: ExchangeSpec, *, log2_scale: float, parts: int
    ) -> CipherMeta:
        """Public facts of one block of what is uploaded."""

    @abstractmethod
    def pack(self, spec: ExchangeSpec, schedule: Schedule, rows: Array) -> Array:
        """Features of all places of all blocks (places, d) -> (blocks, ciphertexts, width)."""

    def blocks(self, spec: ExchangeSpec, schedule: Schedule) -> int:
        """Blocks that the samples fill."""
        return -(-spec.samples // self.places(spec, schedule))

    def places(self, spec: ExchangeSpec, schedule: Schedule) -> int:
        """Samples that a block has room for."""
        del spec
        return schedule.ckks.ring_degree // 2 // schedule.parts

    def held_bytes(self, spec: ExchangeSpec, schedule: Schedule) -> int:
        """Bytes that a teacher holds at once beside an upload."""
        del spec, schedule
        return 0

    def galois_element(self, schedule: Schedule) -> int:
        """e of the automorphism X -> X^e whose key is needed; 0 for none."""
        del schedule
        return 0

    def logits(
        self,
        evaluator: Evaluator[P],
        spec: ExchangeSpec,
        schedule: Schedule,
        specs: Sequence[AffineSpec],
        maps: Sequence[PrivateMap | None],
        blocks: Sequence[CipherTensor[P] | Sequence[Chunk[P]]],
    ) -> list[CipherTensor[P]]:
        """One ciphertext a class for each block; `maps` are None where nothing is computed."""
        stages, bounds = schedule.stages, spec.layers
        with memory.used_again():
            return [network_logits(evaluator, b, specs, stages, bounds, maps) for b in blocks]

    def ring_degree(self, schedule: Schedule) -> int:
        """Coefficients of the ring in which answers are polynomials."""
        return schedule.ckks.ring_degree // schedule.parts

    def leaving(
        self, spec: ExchangeSpec, schedule: Schedule, chosen: Indices | None
    ) -> Indices | None:
        """Coefficients of the ciphertext that leave; None for whole ciphertexts.

        Args:
            spec, schedule: spec and schedule of the plan.
            chosen: coefficients of `ring_degree`'s ring; None for all that hold logits.
        """
        if schedule.parts == 1:
            return chosen
        ring = np.arange(self.ring_degree(schedule)) if chosen is None else chosen
        return schedule.parts * ring

    def count(self, spec: ExchangeSpec, schedule: Schedule, chosen: int | None) -> int | None:
        """How many of each ciphertext `leaving` are, of so many that are chosen."""
        del spec
        return chosen or (None if schedule.parts == 1 else self.ring_degree(schedule))

    def opens_slots(self, leaving: Indices | None) -> bool:
        """Whether slots are opened, and not coefficients."""
        return leaving is None

    def all_may_show(self) -> bool:
        """Whether `logits` are charged as all coefficients where a dishonest key could show more
        than leave; else such a plan is refused."""
        return True

    def spare_bits(self, spec: ExchangeSpec, schedule: Schedule) -> float:
        """Bits that a number may carry beyond what it needs."""
        del spec, schedule
        return SPARE_BITS

    def rounding(self, spec: ExchangeSpec, schedule: Schedule) -> float:
        """Bound on what a logit moves by besides the noise."""
        del spec, schedule
        return 0.0

    def opened(self, spec: ExchangeSpec, schedule: Schedule, values: Array) -> Array:
        """Opened coefficients or slots of a block of `logits` -> (classes, places)."""
        del spec, schedule
        return values


def in_columns(rows: Array, each: int) -> Array:
    """Samples by columns -> (blocks, columns, samples), so many samples a block."""
    split = rows.reshape(-1, each, rows.shape[1])
    return np.ascontiguousarray(split.swapaxes(1, 2))
