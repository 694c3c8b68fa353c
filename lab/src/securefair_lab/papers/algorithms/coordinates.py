"""Parts of an update: its largest coordinates, as many as a participant uploads or has earned."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from securefair.model import Slot


def largest(values: Tensor, count: int) -> Tensor:
    """A vector (P,) with all but its `count` largest magnitudes set to zero.

    Of equal magnitudes at the border, those that come first are kept, so that equal vectors lose
    the same coordinates on every machine.
    """
    if count >= len(values):
        return values.clone()
    kept = values.abs().sort(descending=True, stable=True).indices[: max(count, 0)]
    result = torch.zeros_like(values)
    result[kept] = values[kept]
    return result


def largest_of_each_layer(values: Tensor, quota: float, layers: Sequence[Slot]) -> Tensor:
    """A vector (P,) of which each layer keeps its ceil(quota * size) largest magnitudes."""
    return torch.cat(
        [
            largest(values[layer.start : layer.stop], math.ceil(quota * (layer.stop - layer.start)))
            for layer in layers
        ]
    )
