"""Sums that need no keys: the receiver tells every sender its own weight, and nothing is hidden."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from securefair.averaging.gathering import Gathering, check_weights
from securefair.averaging.interface import PlanT, SumKeys, WeightedSums
from securefair.averaging.messages import read_weights, write_weights
from securefair.averaging.spec import check_vector
from securefair.averaging.streams import filled
from securefair.storage import Secret


class UnkeyedSums(WeightedSums[PlanT, SumKeys]):
    """What `clear` and `crypten` share: requests in the open, one weight each."""

    hides_weights: ClassVar[bool] = False
    hides_parameters: ClassVar[bool] = False

    def generate_keys(self, plan: PlanT) -> SumKeys:
        """Nothing."""
        del plan
        return SumKeys(public=b"")

    def export_keys(self, keys: SumKeys) -> Secret:
        """Nothing."""
        del keys
        return Secret(b"")

    def restore_keys(self, plan: PlanT, secret: Secret) -> SumKeys:
        """Nothing."""
        del secret
        return self.generate_keys(plan)

    def ask(
        self, plan: PlanT, keys: SumKeys, gathering: Gathering, weights: Mapping[str, float]
    ) -> dict[str, bytes]:
        """Every sender's own weight."""
        del keys
        check_weights(gathering, weights, most=plan.spec.senders)
        return {name: write_weights([weights[name]]) for name in gathering.senders}

    def message(
        self,
        plan: PlanT,
        keys: SumKeys,
        publics: Mapping[str, bytes],
        gathering: Gathering,
        sender: str,
        request: bytes,
        vector: NDArray[np.floating],
    ) -> bytes:
        """w_j x_j, as the plan writes it."""
        del keys, publics, sender
        check_vector(plan, vector)
        (weight,) = read_weights(request, 1, gathering)
        return filled(
            len(vector), self.word(plan), lambda part: self.weighed(plan, vector[part], weight)
        ).tobytes()

    @abstractmethod
    def word(self, plan: PlanT) -> DTypeLike:
        """What a message holds of one parameter."""

    @abstractmethod
    def weighed(self, plan: PlanT, part: NDArray[np.floating], weight: float) -> NDArray[Any]:
        """w_j x_j of some parameters, for `message`."""
