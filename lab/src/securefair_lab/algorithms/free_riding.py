"""What a participant sends that wants to be paid without contributing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from securefair.errors import ConfigError

Pretence = Literal["unchanged", "zeros", "noise"]


@dataclass(frozen=True, kw_only=True)
class FreeRide:
    """A free rider trains for itself, if at all, and sends others something worthless.

    Args:
        sends: "unchanged", what it received (of an update: zeros); "zeros"; or "noise", uniform
            numbers in [-scale, scale] on top of the unchanged, as CFFL's free riders send.
        scale: of the noise.

    Raises:
        ConfigError: an unknown pretence, or a scale that is not positive.
    """

    sends: Pretence = "noise"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.sends not in get_args(Pretence):
            raise ConfigError(
                "unknown pretence",
                where="sends",
                found=self.sends,
                expected=", ".join(get_args(Pretence)),
            )
        if not 0 < self.scale < math.inf:
            raise ConfigError("out of range", where="scale", found=self.scale, expected="above 0")

    def instead(self, unchanged: Tensor, seed: int) -> Tensor:
        """What is sent, of the shape of what an idle participant would send.

        Drawn on the CPU, so that every device gets the same numbers.
        """
        if self.sends == "unchanged":
            return unchanged
        if self.sends == "zeros":
            return torch.zeros_like(unchanged)
        generator = torch.Generator().manual_seed(seed)
        noise = 2 * torch.rand(unchanged.shape, generator=generator, dtype=torch.float64) - 1
        return unchanged + self.scale * noise.to(unchanged)
