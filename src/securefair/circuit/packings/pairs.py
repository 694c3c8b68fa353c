"""Two features of a sample in a ciphertext, x + J y: half the encryptions and the upload."""

from __future__ import annotations

import math

import numpy as np

from securefair.circuit.admission import lean
from securefair.circuit.candidates import Candidate, kept_whole
from securefair.circuit.certificate import layered as certified
from securefair.circuit.network import affine_specs
from securefair.circuit.packings.interface import Array, Packing, in_columns
from securefair.circuit.plan import ExchangePlan
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.weighing import WORTH, block_cost, block_seconds, granting
from securefair.circuit.work import BYTE, encryption_seconds, relinearization_seconds
from securefair.ckks.backends.wire import WORD, switching_key_bytes, upload_bytes
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.rules import fresh, with_count
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.tensor import CipherMeta

__all__ = ["PACKING", "Pairs", "certified", "search"]

NAME = "pairs"


class Pairs(Packing):
    """Samples in slots, features two by two; see decision 24."""

    about = "samples in slots, two features in a ciphertext"
    galois_name = "conjugation"

    def fits(self, spec: ExchangeSpec, schedule: Schedule) -> bool:
        """Heads with a square."""
        return schedule.parts == 1 and _may_travel(spec)

    def fresh(
        self, params: CkksParameters, spec: ExchangeSpec, *, log2_scale: float, parts: int
    ) -> CipherMeta:
        """A ciphertext for every two features."""
        return fresh(
            params,
            count=-(-spec.features // 2),
            limbs=params.limbs,
            log2_scale=log2_scale,
            bound=spec.bounds.feature * math.sqrt(2),
            packing="feature pairs",
        )

    def pack(self, spec: ExchangeSpec, schedule: Schedule, rows: Array) -> Array:
        """Two columns one after the other in a row, after an odd one zeros."""
        slots = in_columns(rows, self.places(spec, schedule))
        even = np.pad(slots, ((0, 0), (0, spec.features % 2), (0, 0)))
        return even.reshape(len(slots), -1, schedule.ckks.ring_degree)

    def held_bytes(self, spec: ExchangeSpec, schedule: Schedule) -> int:
        """Hidden units of a block."""
        polynomial = len(schedule.ckks.limb_bits) * schedule.ckks.ring_degree * WORD
        return 2 * spec.hidden * polynomial

    def galois_element(self, schedule: Schedule) -> int:
        """Conjugation."""
        return 2 * schedule.ckks.ring_degree - 1


PACKING = Pairs()


def search(spec: ExchangeSpec, best: Candidate | None) -> Candidate | None:
    """The best plan of the same ring as with features alone.

    Pairs take half the ciphertexts to encrypt and send. They take one more key, and a key switch
    for every value of the first map of a block in every answer. The modulus pays a bit or two for
    the square. Features are packed alike for any number of samples, so that no student that brings
    fewer packs otherwise.
    """
    if best is None or not _may_travel(spec) or not _may_pay(best[0]):
        return None
    ring_degree = best[0].params.ring_degree
    ways = kept_whole(spec, affine_specs(spec), ring_degree, MAX_LOG_QP[ring_degree], packing=NAME)
    found = min(granting(lean(ways)), key=block_seconds, default=None)
    if found is None or block_cost(found) >= WORTH * block_cost(best):
        return None
    return found


def _may_travel(spec: ExchangeSpec) -> bool:
    return spec.hidden > 0 and not spec.network


def _may_pay(plan: ExchangePlan) -> bool:
    """Whether pairs would pay if the modulus grew by nothing; spares most searches."""
    one, layer = with_count(plan.features, 1), plan.spec.layers[0]
    each = encryption_seconds(one) + upload_bytes(one) * BYTE
    hidden = with_count(plan.features, layer.outputs)
    switched = plan.spec.answers * relinearization_seconds(hidden)
    key = switching_key_bytes(plan.params, plan.params.limbs) * BYTE
    return (plan.spec.features // 2) * each > switched + key
