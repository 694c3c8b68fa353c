"""Sums that need no keys: the receiver tells every sender its own weight, and nothing is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from securefair.averaging.gathering import Gathering, check_weights
from securefair.averaging.interface import PlanT, SumKeys, WeightedSums
from securefair.averaging.messages import write_weights
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
        del plan, keys
        check_weights(gathering, weights)
        return {name: write_weights([weights[name]]) for name in gathering.senders}
