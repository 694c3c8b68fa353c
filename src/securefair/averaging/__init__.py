"""Private weighted sums: a receiver gets sum_j w_j x_j of its senders' parameters, and no x_j.

    plan -> keys -> ask (receiver) -> contribute (senders) -> release (senders) -> open (receiver)

`interface` has the steps, `contributions` the rules that a sender keeps, and `clear`, `masked`,
`ckks` and `crypten` are four ways to carry them out, chosen by name with `get_averaging`.
"""

from securefair.averaging.interface import (
    AVERAGING,
    Gathering,
    SumKeys,
    SumPlan,
    SumWish,
    WeightedSums,
    get_averaging,
    plan_sum,
)

__all__ = [
    "AVERAGING",
    "Gathering",
    "SumKeys",
    "SumPlan",
    "SumWish",
    "WeightedSums",
    "get_averaging",
    "plan_sum",
]
