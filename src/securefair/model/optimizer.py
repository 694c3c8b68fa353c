"""How models step: a record of settings, which every way of training reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from securefair.config import defaults
from securefair.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """Stochastic gradient descent with momentum.

    Attributes:
        learning_rate: step size.
        momentum: share of the last step that is kept, in [0, 1).
        weight_decay: L2 penalty.
        clip_norm: largest norm of the whole gradient, before momentum; None: no clipping.

    Raises:
        ConfigError: a rate that is not positive, a momentum outside [0, 1), a negative decay.
    """

    learning_rate: float = defaults.LEARNING_RATE
    momentum: float = defaults.MOMENTUM
    weight_decay: float = defaults.WEIGHT_DECAY
    clip_norm: float | None = defaults.CLIP_NORM

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            ("learning_rate", 0 < self.learning_rate < math.inf, "above 0"),
            ("momentum", 0 <= self.momentum < 1, "in [0, 1)"),
            ("weight_decay", 0 <= self.weight_decay < math.inf, "at least 0"),
            ("clip_norm", self.clip_norm is None or self.clip_norm > 0, "above 0, or None"),
        ):
            if not accepted:
                raise ConfigError(
                    "this optimiser cannot work",
                    where=name,
                    found=getattr(self, name),
                    expected=expected,
                )

    def scaled(self, factor: float) -> OptimizerConfig:
        """The same with another learning rate, for a schedule."""
        return replace(self, learning_rate=factor * self.learning_rate)
