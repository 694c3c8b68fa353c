"""The activation that encryption can compute: a learned square, kept inside its interval.

A polynomial is only sane near zero: beyond some |x| its square takes over, and under encryption
the modulus must hold the largest value that can occur. So training pays for pre-activations that
leave [-limit, limit] (`excess`), and evaluation needs no clamp.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from securefair.errors import ModelError

SQUARE_INITIAL = 0.25
SQUARE_FLOOR = 1 / 32
SLOPE_INITIAL = 0.5
LIMIT = 4.0
RANGE_PENALTY = 1e-2
"""Weight of the excess in a loss, where nobody says otherwise."""


class Quadratic(nn.Module):
    """x -> a x^2 + b x + c with one learned triple a channel, axis 1 of the input.

    a stays away from 0, where folding would divide by it: a = f + (a0 - f) exp(rho) with the floor
    f = 1/32, a0 = 0.25, and rho learned from 0. It is positive without loss, since the next layer's
    weights carry the sign. b starts at 0.5 and c at 0.

    Args:
        channels: size of axis 1.
        limit: pre-activations should stay within [-limit, limit]. After batch normalisation the
            default is four standard deviations.

    Raises:
        ModelError: no channels, or a limit that is not positive.
    """

    def __init__(self, channels: int, *, limit: float = LIMIT) -> None:
        super().__init__()
        if channels < 1 or not limit > 0:
            raise ModelError(
                "a quadratic activation cannot be built",
                found=f"{channels} channels within {limit}",
                expected="at least 1 channel and a positive limit",
            )
        self.channels = channels
        self.limit = limit
        self.square_log_gain = nn.Parameter(torch.zeros(channels))
        self.slope = nn.Parameter(torch.full((channels,), SLOPE_INITIAL))
        self.offset = nn.Parameter(torch.zeros(channels))

    @property
    def square(self) -> Tensor:
        """The coefficients a, (channels,), all above SQUARE_FLOOR."""
        return SQUARE_FLOOR + (SQUARE_INITIAL - SQUARE_FLOOR) * self.square_log_gain.exp()

    def forward(self, values: Tensor) -> Tensor:
        """(B, channels, ...) -> the same shape."""
        a, b, c = (
            coefficient.view(-1, *(1,) * (values.dim() - 2))
            for coefficient in (self.square, self.slope, self.offset)
        )
        return torch.addcmul(c, values, torch.addcmul(b, a, values))

    def excess(self, values: Tensor) -> Tensor:
        """How far pre-activations leave the interval: mean of max(0, |x| - limit)^2, a scalar."""
        return (values.abs() - self.limit).clamp_min(0).square().mean()

    def extra_repr(self) -> str:
        """What `print` shows."""
        return f"{self.channels}, limit={self.limit:g}"
