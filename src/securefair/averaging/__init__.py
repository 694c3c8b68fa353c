"""Private weighted sums: a receiver gets sum_j w_j x_j of its senders' parameters, and no x_j.

    plan -> keys -> ask (receiver) -> make a share (senders) -> release (senders) -> open (receiver)

`interface` has the steps, `shares` the rules that a sender keeps, `opening` what a receiver does,
and `clear`, `masked`, `ckks` and `crypten` are four ways to carry them out, chosen by name with
`get_averaging`.
"""

from securefair.averaging.gathering import Gathering
from securefair.averaging.interface import (
    AVERAGING,
    SumKeys,
    WeightedSums,
    averaging_kind,
    get_averaging,
    plan_sum,
)
from securefair.averaging.opening import open_sum, opened_messages
from securefair.averaging.recovery import Divided
from securefair.averaging.shares import (
    Share,
    Shares,
    make_share,
    part_for,
    release,
    share_message,
)
from securefair.averaging.spec import SumPlan, SumSpec

__all__ = [
    "AVERAGING",
    "Divided",
    "Share",
    "Shares",
    "Gathering",
    "SumKeys",
    "SumPlan",
    "SumSpec",
    "WeightedSums",
    "averaging_kind",
    "make_share",
    "share_message",
    "get_averaging",
    "open_sum",
    "opened_messages",
    "part_for",
    "plan_sum",
    "release",
]
