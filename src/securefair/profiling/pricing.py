"""What a collaboration costs by measured prices; which ones, each kind says (`Kind.prices`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from securefair.circuit.planner import ExchangePlan
from securefair.config import RunConfig
from securefair.profiling.cost_model import MEASURE, load_model
from securefair.profiling.estimate import Estimate, estimate
from securefair.profiling.transfer_prices import foretold, load_transfer, measuring

if TYPE_CHECKING:
    from securefair.collaboration.gossip.agreement import GossipAgreement
    from securefair.collaboration.table_one.agreement import TableAgreement


@dataclass(frozen=True)
class Pricing:
    """How one sort of prices is measured and used.

    Attributes:
        measure: the command that measures the prices of an agreement.
        cost: cost of a hospital, by a file of prices; None where there is no plan to price. None
            instead of a function: what is measured foretells no hours.
    """

    measure: Callable[[Any], str]
    cost: Callable[[Path, RunConfig, Any, ExchangePlan | None], Estimate | None] | None


def _rounds(
    prices: Path, config: RunConfig, agreed: Any, plan: ExchangePlan | None
) -> Estimate | None:
    loaded = load_model(prices)
    if plan is None:
        return None
    return estimate(
        plan,
        loaded,
        participants=len(agreed.participants),
        rounds=config.training.rounds,
        forced_every=config.fairness.forced_every,
    )


def _one_exchange(
    prices: Path, config: RunConfig, agreed: Any, plan: ExchangePlan | None
) -> Estimate | None:
    del config
    loaded = load_transfer(prices)
    return None if plan is None else foretold(loaded, agreed)


def _measuring_averages(agreed: GossipAgreement) -> str:
    """The commands that measure one sum and one comparison of gradients, as agreed."""
    spec, aligned = agreed.sum_plan.spec, agreed.alignment.spec
    return (
        f"securefair profile averaging --averaging {agreed.gossip.averaging} "
        f"--parameters {spec.parameters} --senders {spec.senders} --bound {spec.bound} "
        f"--precision {spec.precision} --flooding-bits {spec.flooding_bits}; "
        f"securefair profile alignment --dimension {aligned.dimension} "
        f"--sketch {aligned.sketch or 0} --flooding-bits {aligned.flooding_bits}"
    )


def _measuring_sum(agreed: TableAgreement) -> str:
    """The command that measures one of its sums under masks, as agreed."""
    spec = agreed.question.plan.spec
    return (
        f"securefair profile averaging --averaging masked --parameters {spec.parameters} "
        f"--senders {spec.senders} --bound {spec.bound} --precision {spec.precision}"
    )


PRICINGS = {
    "rounds": Pricing(lambda _: MEASURE, _rounds),
    "one exchange": Pricing(measuring, _one_exchange),
    "one sum": Pricing(_measuring_sum, None),
    "averages": Pricing(_measuring_averages, None),
}
"""By the name that kinds give."""
