"""Private weighted sums: a receiver gets sum_j w_j x_j of its senders' parameters, and no x_j.

    plan -> keys -> ask (receiver) -> contribute (senders) -> release (senders) -> open (receiver)

`interface` has the steps, `contributions` the rules that a sender keeps, and `clear`, `masked`,
`ckks` and `crypten` are four ways to carry them out, chosen by name with `get_averaging`.
"""

from securefair.averaging.contributions import (
    Share,
    Shares,
    contribute,
    contribute_message,
    open_sum,
    opened_messages,
    release,
)
from securefair.averaging.gathering import Gathering
from securefair.averaging.interface import (
    AVERAGING,
    SumKeys,
    WeightedSums,
    get_averaging,
    plan_sum,
)
from securefair.averaging.spec import SumPlan, SumSpec

__all__ = [
    "AVERAGING",
    "Share",
    "Shares",
    "Gathering",
    "SumKeys",
    "SumPlan",
    "SumSpec",
    "WeightedSums",
    "contribute",
    "contribute_message",
    "get_averaging",
    "open_sum",
    "opened_messages",
    "plan_sum",
    "release",
]
