"""The masked implementation: fixed point, hidden under masks that cancel in the sum.

Every sender rounds w_j x_j 2^k to integers modulo 2^32 or 2^64 and adds or subtracts one stream
for each other sender (Bonawitz et al., "Practical secure aggregation for privacy-preserving
machine learning", CCS 2017, without their recovery of lost senders: `shares` has the rules
for these). As long as one other sender keeps its secret, a message is uniform noise to everyone
else. Senders learn the weight that the receiver gives them.

    public        X25519 key
    request       the sender's weight as a little-endian double; with `max_share` all senders',
                  in their order, and then masks are bound to them
    share  little-endian words, `parameters` of them
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from securefair.averaging import pairwise
from securefair.averaging.fixed_point import FixedPlan, FixedPoint
from securefair.averaging.gathering import WEIGHT_TOLERANCE, Gathering, check_weights
from securefair.averaging.interface import SumKeys, WeightedSums
from securefair.averaging.messages import (
    WEIGHT_BYTES,
    read_weights,
    write_weights,
)
from securefair.averaging.pairwise import PairMask, pair_masks
from securefair.averaging.spec import (
    SumSpec,
    check_precision,
    check_spec,
    check_vector,
)
from securefair.averaging.streams import filled, in_chunks, key_stream
from securefair.errors import RemoteProtocolError
from securefair.storage import Secret


@dataclass(frozen=True, kw_only=True, repr=False)
class MaskedKeys(SumKeys):
    """A participant's X25519 key pair."""

    private: X25519PrivateKey = field(repr=False)


class MaskedSums(WeightedSums[FixedPlan, MaskedKeys]):
    """Sums under pairwise masks."""

    name: ClassVar[str] = "masked"
    hides_weights: ClassVar[bool] = False
    hides_parameters: ClassVar[bool] = True
    means: ClassVar[str] = "averagings.masked.means"

    def plan(self, spec: SumSpec) -> FixedPlan:
        """Words of 32 bits unless the precision asks for 64; the largest scale that fits them."""
        check_spec(spec)
        fixed = FixedPoint.largest(spec, 32)
        if fixed.error_bound(spec) > spec.precision * spec.bound:
            fixed = FixedPoint.largest(spec, 64)
        plan = FixedPlan(
            averaging=self.name,
            spec=spec,
            error_bound=fixed.error_bound(spec),
            public_key_bytes=pairwise.PUBLIC_BYTES,
            request_bytes=WEIGHT_BYTES * (1 if spec.max_share is None else spec.senders),
            share_bytes=fixed.word_bytes * spec.parameters,
            fixed=fixed,
        )
        check_precision(plan)
        return plan

    def generate_keys(self, plan: FixedPlan) -> MaskedKeys:
        """A fresh X25519 key pair."""
        del plan
        private = pairwise.generate_private()
        return MaskedKeys(public=pairwise.public_bytes(private), private=private)

    def export_keys(self, keys: MaskedKeys) -> Secret:
        """The private key."""
        return pairwise.export_private(keys.private)

    def restore_keys(self, plan: FixedPlan, secret: Secret) -> MaskedKeys:
        """The same key pair."""
        del plan
        private = pairwise.restore_private(secret)
        return MaskedKeys(public=pairwise.public_bytes(private), private=private)

    def check_public(self, plan: FixedPlan, keys: MaskedKeys, peer: str, public: bytes) -> None:
        """An X25519 key with which a secret can be shared."""
        super().check_public(plan, keys, peer, public)
        pairwise.check_public(keys.private, peer, public)

    def ask(
        self,
        plan: FixedPlan,
        keys: MaskedKeys,
        gathering: Gathering,
        weights: Mapping[str, float],
    ) -> dict[str, bytes]:
        """Every sender's own weight, or with `max_share` all of them."""
        del keys
        check_weights(gathering, weights, most=plan.spec.senders)
        if plan.spec.max_share is None:
            return {name: write_weights([weights[name]]) for name in gathering.senders}
        everyones = write_weights([weights[name] for name in gathering.senders])
        return dict.fromkeys(gathering.senders, everyones)

    def message(
        self,
        plan: FixedPlan,
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
        if plan.spec.max_share is not None:  # senders that were shown other weights do not cancel
            context += hashlib.sha256(request).digest()
        masks = pair_masks(keys.private, publics, gathering, sender, context)

        def hidden(part: slice) -> NDArray[np.unsignedinteger]:
            words = plan.fixed.encode(vector[part], weight)
            add_masks(words, masks, part.start)
            return words

        return filled(len(vector), plan.fixed.word, hidden).tobytes()

    def added(
        self, plan: FixedPlan, keys: MaskedKeys, messages: Sequence[bytes]
    ) -> NDArray[np.float64]:
        """The sum of all words, in which every mask cancels."""
        del keys
        parts = [np.frombuffer(message, plan.fixed.word) for message in messages]
        total = np.empty(plan.spec.parameters)

        def add(part: slice) -> None:
            words = parts[0][part].copy()
            for other in parts[1:]:
                words += other[part]  # modulo 2^word_bits
            plan.fixed.decode(words, total[part])

        in_chunks(len(total), add)
        return total

    def _own_weight(
        self, plan: FixedPlan, gathering: Gathering, sender: str, request: bytes
    ) -> float:
        if plan.spec.max_share is None:
            return read_weights(request, 1, gathering)[0]
        weights = read_weights(request, len(gathering.senders), gathering)
        most = plan.spec.max_share * math.fsum(weights)
        if max(weights) > most * (1 + WEIGHT_TOLERANCE):
            raise RemoteProtocolError(
                "asks for a sum that is mostly one sender's model",
                culprit=gathering.receiver,
                found=f"a share of {max(weights) / math.fsum(weights):.3g}",
                expected=f"at most {plan.spec.max_share:g}",
            )
        return weights[gathering.senders.index(sender)]


def add_masks(words: NDArray[np.unsignedinteger], masks: list[PairMask], start: int) -> None:
    """Add every mask's words to a chunk that begins at parameter `start`, in place."""
    size = words.itemsize
    for mask in masks:
        stream = key_stream(mask.key, start * size, words.nbytes).view(words.dtype)
        if mask.sign > 0:
            words += stream
        else:
            words -= stream
