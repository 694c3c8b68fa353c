"""The activation that encryption can compute: a learned square, kept inside its interval.

A polynomial is only sane near zero: beyond some |x| its square takes over, and under encryption
the modulus must hold the largest value that can occur. So training pays for pre-activations that
leave [-limit, limit] (`excess`), and evaluation needs no clamp.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from securefair.errors import ModelError
from securefair.model.squares import SLOPE_INITIAL, SQUARE_FLOOR, SQUARE_INITIAL, log_gain

LIMIT = 4.0
"""Weight of the excess in a loss, where nobody says otherwise."""


class Quadratic(nn.Module):
    """x -> a x^2 + b x + c with one learned triple for all values, or one a channel.

    a stays away from 0, where folding would divide by it: a = f + (a0 - f) exp(rho) with the floor
    f = 1/32, a0 = 0.25, and rho learned. It is positive without loss, since the next layer's
    weights carry the sign. c starts at 0.

    Args:
        channels: size of axis 1, each with a triple of its own; None: one triple for all values.
        limit: pre-activations should stay within [-limit, limit]. After batch normalisation the
            default is four standard deviations.
        square: a before training, above 1/32.
        slope: b before training.

    Raises:
        ModelError: no channels, a limit that is not positive, or a square that is too small to be
            folded into the layer before it.
    """

    def __init__(
        self,
        channels: int | None = None,
        *,
        limit: float = LIMIT,
        square: float = SQUARE_INITIAL,
        slope: float = SLOPE_INITIAL,
    ) -> None:
        super().__init__()
        if channels is not None and (not isinstance(channels, int) or channels < 1):
            raise ModelError(
                "out of range",
                where="channels",
                found=channels,
                expected="a whole number of at least 1, or None",
                hint="Quadratic(square=...) sets the coefficient",
            )
        for name, accepted, found, expected in (
            ("limit", limit > 0, limit, "above 0"),
            ("square", SQUARE_FLOOR < square < math.inf, square, f"above {SQUARE_FLOOR}"),
            ("slope", math.isfinite(slope), slope, "a finite number"),
        ):
            if not accepted:
                raise ModelError("out of range", where=name, found=found, expected=expected)
        self.channels = channels
        self.limit = limit
        shape = () if channels is None else (channels,)
        self.square_log_gain = nn.Parameter(torch.full(shape, log_gain(square)))
        self.slope = nn.Parameter(torch.full(shape, float(slope)))
        self.offset = nn.Parameter(torch.zeros(shape))

    @property
    def square(self) -> Tensor:
        """The coefficients a, () or (channels,), none below SQUARE_FLOOR."""
        return coefficient(self.square_log_gain)

    def forward(self, values: Tensor) -> Tensor:
        """(B, channels, ...) -> the same shape; any shape with one triple for all."""
        shape = () if self.channels is None else (-1, *(1,) * (values.dim() - 2))
        a, b, c = (each.view(shape) for each in (self.square, self.slope, self.offset))
        return torch.addcmul(c, values, torch.addcmul(b, a, values))

    def excess(self, values: Tensor) -> Tensor:
        """How far pre-activations leave the interval: mean of max(0, |x| - limit)^2, a scalar."""
        return (values.abs() - self.limit).clamp_min(0).square().mean()

    def extra_repr(self) -> str:
        """What `print` shows."""
        channels = "" if self.channels is None else f"{self.channels}, "
        return f"{channels}limit={self.limit:g}"


def coefficient(square_log_gain: Tensor) -> Tensor:
    """a = f + (a0 - f) exp(rho)."""
    return SQUARE_FLOOR + (SQUARE_INITIAL - SQUARE_FLOOR) * square_log_gain.exp()
