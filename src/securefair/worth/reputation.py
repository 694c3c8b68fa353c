"""Reputation: a student's smoothed reputation of one teacher (CYCle, section 4.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from securefair.config import defaults
from securefair.errors import ConfigError, ModelError


@dataclass(frozen=True, kw_only=True)
class ReputationRule:
    """How an alignment becomes a reputation in [0, 1].

    Guarantees: `score` and `update` stay in [0, 1] and never fall when the alignment rises.

    At cosine 0 (an uninformative peer, or a zero gradient) the default thresholds give 0.5: such a
    peer keeps half its reputation. Lowering `tau_opt` or `tau_max` is stricter; CYCle's
    App. G.9 says the opposite of `tau_opt`, against its own Eq. 7.

    Args:
        alpha: weight of the previous reputation, in [0, 1); 0 forgets it.
        tau_opt: misalignment s up to which a peer is fully trusted.
        tau_max: misalignment s from which a peer is not trusted at all; above `tau_opt`.

    Raises:
        ConfigError: a value outside these ranges.
    """

    alpha: float = defaults.ALPHA
    tau_opt: float = defaults.TAU_OPT
    tau_max: float = defaults.TAU_MAX

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha < 1.0:
            raise ConfigError("out of range", where="alpha", found=self.alpha, expected="[0, 1)")
        if not 0.0 <= self.tau_opt < self.tau_max <= 1.0:
            raise ConfigError(
                "thresholds are out of order or range",
                where="tau_opt, tau_max",
                found=f"{self.tau_opt}, {self.tau_max}",
                expected="0 <= tau_opt < tau_max <= 1",
            )

    def score(self, cosine: float) -> float:
        """The reputation that one alignment in [-1, 1] deserves, in [0, 1].

        Raises:
            ModelError: `cosine` is NaN or outside [-1, 1].
        """
        if math.isnan(cosine) or abs(cosine) > 1.0:
            raise ModelError("not a cosine", where="alignment", found=cosine, expected="[-1, 1]")
        # Eq. 6: s = (1 - cos(grad L_CE, grad L_DL)) / 2
        s = (1.0 - cosine) / 2.0
        # Eq. 7: h(s) = max(0, min(1, (s - tau_max) / (tau_opt - tau_max)))
        return max(0.0, min(1.0, (s - self.tau_max) / (self.tau_opt - self.tau_max)))

    def update(self, previous: float | None, cosine: float) -> float:
        """The new reputation; `previous` is None when there is no reputation yet.

        Raises:
            ModelError: `cosine` is not in [-1, 1], or `previous` not in [0, 1].
        """
        score = self.score(cosine)
        if previous is None:
            return score  # "When t = 0, r^t = r~"
        if not 0.0 <= previous <= 1.0:
            raise ModelError(
                "not a reputation", where="previous", found=previous, expected="[0, 1] or None"
            )
        # "r^t = alpha r^(t-1) + (1 - alpha) r~"
        return self.alpha * previous + (1.0 - self.alpha) * score
