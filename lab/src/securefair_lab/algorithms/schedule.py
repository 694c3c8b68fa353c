"""Learning rates that fall from round to round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from securefair.model import OptimizerConfig
from securefair_lab.algorithms.settings import check_settings


class Schedule(Protocol):
    """The optimiser of each round, by its number."""

    def at(self, optimizer: OptimizerConfig, round: int) -> OptimizerConfig:
        """The optimiser of one round."""
        ...


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


@dataclass(frozen=True, kw_only=True)
class StepFactors:
    """The rate is multiplied by one factor for each `every` rounds; the last for all further ones.

    Where `FairSl` has as many epochs in each cycle, this is the rate of its cycles.

    Raises:
        ConfigError: a setting out of range.
    """

    every: int
    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        check_settings(
            self,
            every=(self.every >= 1, "1 or more rounds"),
            factors=(bool(self.factors) and min(self.factors) > 0, "one or more, each above 0"),
        )

    def at(self, optimizer: OptimizerConfig, round: int) -> OptimizerConfig:
        """The optimiser of one round."""
        return optimizer.scaled(self.factors[min(round // self.every, len(self.factors) - 1)])


EXPONENTIAL = StepDecay(every=1, factor=0.977)
"""A little less each round, as CFFL, RFFL and CGSV train."""


def at_round(schedule: Schedule | None, optimizer: OptimizerConfig, round: int) -> OptimizerConfig:
    """The optimiser of one round; the same in all rounds without a schedule."""
    return optimizer if schedule is None else schedule.at(optimizer, round)
