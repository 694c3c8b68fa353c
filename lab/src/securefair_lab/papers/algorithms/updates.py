"""What training changed, for algorithms whose server works on changes instead of whole models.

Batch norm's running statistics are no part of an update. They are measured, not trained: their
largest coordinates would crowd out those of the parameters, and a variance that is clipped, scaled
or rewarded in parts may fall below zero. Everyone keeps those of its own training, as in the
published code, which walks over parameters. Algorithms that exchange whole models average
statistics with the parameters.
"""

from __future__ import annotations

import torch
from torch import Tensor

from securefair.model import Stacked


def update_of(stacked: Stacked, before: Tensor, after: Tensor) -> Tensor:
    """What was trained after, less before: (N, P) from models (N, V)."""
    return stacked.parts(after)[0] - stacked.parts(before)[0]


def with_statistics(stacked: Stacked, parameters: Tensor, models: Tensor) -> Tensor:
    """Models (N, V) of these parameters (N, P) and the running statistics of `models` (N, V)."""
    return torch.cat([parameters, stacked.parts(models)[1]], dim=1)
