"""The masked implementation: fixed point, hidden under masks that cancel in the sum.

Every sender rounds w_j x_j 2^k to integers modulo 2^32 or 2^64 and adds or subtracts one stream
for each other sender (Bonawitz et al., "Practical secure aggregation for privacy-preserving
machine learning", CCS 2017, without their recovery of lost senders: `contributions` has the rules
for these). As long as one other sender keeps its secret, a message is uniform noise to everyone
else. Senders learn the weight that the receiver gives them.

    public        X25519 key
    request       the sender's weight as a little-endian double; with `max_share` all senders',
                  in their order, and then masks are bound to them
    contribution  little-endian words, `parameters` of them
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from securefair.averaging import pairwise
from securefair.averaging.gathering import WEIGHT_TOLERANCE, Gathering, check_weights
from securefair.averaging.interface import SumKeys, WeightedSums
from securefair.averaging.messages import (
    WEIGHT_BYTES,
    check_contributions,
    check_total,
    read_weights,
    write_weights,
)
from securefair.averaging.pairwise import PairMask, pair_masks
from securefair.averaging.streams import in_chunks, key_stream
from securefair.averaging.wish import (
    SumPlan,
    SumWish,
    check_precision,
    check_vector,
    check_wish,
    largest_magnitude,
)
from securefair.errors import RemoteProtocolError

FLOAT_ERROR = 2.0**-50
"""Relative error of w_j x_j in float64, and of reading the sum as one."""


@dataclass(frozen=True, kw_only=True)
class MaskedPlan(SumPlan):
    """Adds the fixed-point format.

    Attributes:
        word_bits: 32 or 64; integers are modulo 2^word_bits.
        log2_scale: k; a value v is the integer round(v 2^k).
    """

    word_bits: int
    log2_scale: int

    @property
    def word(self) -> np.dtype[np.unsignedinteger]:
        """Little-endian words of that size."""
        return np.dtype(f"<u{self.word_bits // 8}")


@dataclass(frozen=True, kw_only=True, repr=False)
class MaskedKeys(SumKeys):
    """A participant's X25519 key pair."""

    private: X25519PrivateKey = field(repr=False)


class MaskedSums(WeightedSums[MaskedPlan, MaskedKeys]):
    """Sums under pairwise masks."""

    name: ClassVar[str] = "masked"
    hides_weights: ClassVar[bool] = False
    hides_parameters: ClassVar[bool] = True

    def plan(self, wish: SumWish) -> MaskedPlan:
        """Words of 32 bits unless the precision asks for 64; the largest scale that fits them."""
        check_wish(wish)
        plan = self._plan(wish, 32)
        if plan.error_bound > wish.precision * wish.bound:
            plan = self._plan(wish, 64)
        check_precision(plan)
        return plan

    def _plan(self, wish: SumWish, word_bits: int) -> MaskedPlan:
        # The sum of all integers must stay within [-2^(bits - 1), 2^(bits - 1)).
        room = 2.0 ** (word_bits - 1) - wish.senders
        scale = math.floor(math.log2(room / (wish.bound * (1 + WEIGHT_TOLERANCE))))
        return MaskedPlan(
            averaging=self.name,
            wish=wish,
            error_bound=wish.senders / 2 * 2.0**-scale + wish.bound * FLOAT_ERROR,
            public_key_bytes=pairwise.PUBLIC_BYTES,
            request_bytes=WEIGHT_BYTES * (1 if wish.max_share is None else wish.senders),
            contribution_bytes=word_bits // 8 * wish.parameters,
            word_bits=word_bits,
            log2_scale=scale,
        )

    def generate_keys(self, plan: MaskedPlan) -> MaskedKeys:
        """A fresh X25519 key pair."""
        del plan
        private = pairwise.generate_private()
        return MaskedKeys(public=pairwise.public_bytes(private), private=private)

    def ask(
        self,
        plan: MaskedPlan,
        keys: MaskedKeys,
        gathering: Gathering,
        weights: Mapping[str, float],
    ) -> dict[str, bytes]:
        """Every sender's own weight, or with `max_share` all of them."""
        del keys
        check_weights(gathering, weights)
        if plan.wish.max_share is None:
            return {name: write_weights([weights[name]]) for name in gathering.senders}
        everyones = write_weights([weights[name] for name in gathering.senders])
        return dict.fromkeys(gathering.senders, everyones)

    def contribute(
        self,
        plan: MaskedPlan,
        keys: MaskedKeys,
        publics: Mapping[str, bytes],
        gathering: Gathering,
        sender: str,
        request: bytes,
        vector: NDArray[np.floating],
    ) -> bytes:
        """round(w_j x_j 2^k) plus the masks."""
        check_vector(plan, vector)
        weight = self._own_weight(plan, gathering, sender, request)
        context = plan.digest
        if plan.wish.max_share is not None:  # senders that were shown other weights do not cancel
            context += hashlib.sha256(request).digest()
        masks = pair_masks(keys.private, publics, gathering, sender, context)
        factor = weight * 2.0**plan.log2_scale
        message = np.empty(len(vector), dtype=plan.word)

        def hide(part: slice) -> None:
            message[part] = masked_words(plan, vector[part], factor, masks, part.start)

        in_chunks(len(vector), hide)
        return message.tobytes()

    def total(
        self,
        plan: MaskedPlan,
        keys: MaskedKeys,
        gathering: Gathering,
        contributions: Mapping[str, bytes],
    ) -> NDArray[np.float64]:
        """The sum of all words, in which every mask cancels."""
        del keys
        check_contributions(plan, gathering, contributions)
        messages = [np.frombuffer(contributions[name], plan.word) for name in gathering.senders]
        total = np.empty(plan.wish.parameters)

        def add(part: slice) -> None:
            words = messages[0][part].copy()
            for message in messages[1:]:
                words += message[part]  # modulo 2^word_bits
            signed = words.view(f"<i{plan.word_bits // 8}")
            np.multiply(signed, 2.0**-plan.log2_scale, out=total[part])

        in_chunks(len(total), add)
        check_total(plan, gathering, largest_magnitude(total))
        return total

    def _own_weight(
        self, plan: MaskedPlan, gathering: Gathering, sender: str, request: bytes
    ) -> float:
        if plan.wish.max_share is None:
            return read_weights(request, 1, gathering)[0]
        weights = read_weights(request, len(gathering.senders), gathering)
        if max(weights) > plan.wish.max_share * math.fsum(weights):
            raise RemoteProtocolError(
                "asks for a sum that is mostly one sender's model",
                culprit=gathering.receiver,
                found=f"a share of {max(weights) / math.fsum(weights):.3g}",
                expected=f"at most {plan.wish.max_share:g}",
            )
        return weights[gathering.senders.index(sender)]


def masked_words(
    plan: MaskedPlan,
    values: NDArray[np.floating],
    factor: float,
    masks: list[PairMask],
    start: int,
) -> NDArray[np.unsignedinteger]:
    """Words of a chunk that begins at parameter `start`: round(values factor), masked."""
    fixed = values.astype(np.float64)
    fixed *= factor
    np.rint(fixed, out=fixed)
    words = fixed.astype(f"<i{plan.word_bits // 8}").view(plan.word)
    size = plan.word_bits // 8
    for mask in masks:
        stream = key_stream(mask.key, start * size, len(values) * size).view(plan.word)
        if mask.sign > 0:
            words += stream
        else:
            words -= stream
    return words
