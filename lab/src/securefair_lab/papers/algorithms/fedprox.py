"""FedProx (Li et al. 2020): FedAvg whose participants are held near the common model."""

from __future__ import annotations

import math
from dataclasses import dataclass

from securefair_lab.algorithms.settings import check_settings
from securefair_lab.papers.algorithms.fedavg import FedAvg


@dataclass(frozen=True, kw_only=True)
class FedProx(FedAvg):
    """Local objective L_CE(w) + (mu / 2) ||w - w_t||^2; mu = 0 is FedAvg.

    Args:
        mu: strength of the pull (DPFL's comparison: 0.1).

    Raises:
        ConfigError: a setting out of range.
    """

    mu: float = 0.1
    name: str = "fedprox"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(self, mu=(0 <= self.mu < math.inf, "0 or more"))

    @property
    def pull(self) -> float:
        """How strongly local training is held near the common model."""
        return self.mu
