"""Learning rates that fall from round to round."""

from __future__ import annotations

from dataclasses import dataclass

from securefair.algorithms.settings import check_settings
from securefair.model.training import OptimizerConfig


@dataclass(frozen=True, kw_only=True)
class StepDecay:
    """The rate is multiplied by `factor` after every `every` rounds (CYCle, App. F: 0.1 and 25).

    Args:
        elapsed: rounds that count as over before round 0, such as local epochs of before. CYCle
            does not say whether its 25 local epochs are among the 25 rounds.

    Raises:
        ConfigError: a setting out of range.
    """

    every: int = 25
    factor: float = 0.1
    elapsed: int = 0

    def __post_init__(self) -> None:
        check_settings(
            self,
            every=(self.every >= 1, "1 or more rounds"),
            factor=(0 < self.factor <= 1, "in (0, 1]"),
            elapsed=(self.elapsed >= 0, "0 or more"),
        )

    def at(self, optimizer: OptimizerConfig, round: int) -> OptimizerConfig:
        """The optimiser of one round."""
        return optimizer.scaled(self.factor ** ((round + self.elapsed) // self.every))


EXPONENTIAL = StepDecay(every=1, factor=0.977)
"""A little less each round, as CFFL, RFFL and CGSV train."""


def at_round(schedule: StepDecay | None, optimizer: OptimizerConfig, round: int) -> OptimizerConfig:
    """The optimiser of one round; the same in all rounds without a schedule."""
    return optimizer if schedule is None else schedule.at(optimizer, round)
