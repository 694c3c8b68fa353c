"""Ways to divide a data set that has no hospitals of its own.

Kinds and keys are the names and arguments of the laboratory's partitioners, which divide.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Ratio, Section, contradiction


class _PartitionSection(Section):
    participants: int = Field(ge=2, le=1000, description="Among how many to divide the samples")


class HomogeneousPartition(_PartitionSection):
    """Every participant gets an equal share of every class."""

    kind: Literal["homogeneous"] = Field(description="How to divide the samples")


class ImbalancedPartition(_PartitionSection):
    """A few participants hold most of the data; the rest is divided evenly."""

    kind: Literal["imbalanced"] = Field(description="How to divide the samples")
    kappa: Ratio = Field(
        gt=0, lt=1, description="Share of every class that each large participant gets"
    )
    large: int = Field(default=1, ge=1, description="How many participants are large")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.large >= self.participants:
            raise contradiction(
                "large",
                "nobody is left to get the rest",
                found=self.large,
                expected=f"fewer than participants = {self.participants}",
            )
        if self.large * self.kappa >= 1:
            raise contradiction(
                "kappa",
                "the large participants would take everything",
                found=self.kappa,
                expected=f"less than 1/{self.large}",
            )
        return self


class DirichletPartition(_PartitionSection):
    """Shares are drawn from a Dirichlet distribution; small delta means unequal shares."""

    kind: Literal["dirichlet"] = Field(description="How to divide the samples")
    delta: Ratio = Field(
        default=defaults.DELTA, gt=0, description="Concentration of the distribution"
    )
    by: Literal["class", "quantity"] = Field(
        default=defaults.PARTITION_BY, description="Whether classes or only amounts are unequal"
    )


class PathologicalPartition(_PartitionSection):
    """Every participant holds only a few of the classes."""

    kind: Literal["pathological"] = Field(description="How to divide the samples")
    classes_each: int = Field(default=2, ge=1, description="Classes that a participant holds")


class RatioPartition(Section):
    """Each participant gets its own ratio of every class."""

    kind: Literal["ratio"] = Field(description="How to divide the samples")
    ratios: Annotated[tuple[Annotated[Ratio, Field(gt=0, lt=1)], ...], Field(strict=False)] = Field(
        min_length=2, description="One share a participant; together they are 1"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not math.isclose(sum(self.ratios), 1.0, abs_tol=1e-9):
            raise contradiction(
                "ratios",
                "the shares are not a whole",
                found=sum(self.ratios),
                expected="a sum of 1",
            )
        return self


class PowerLawPartition(_PartitionSection):
    """Participant n of N holds a share proportional to n to a power."""

    kind: Literal["power-law"] = Field(description="How to divide the samples")
    exponent: float = Field(default=1.0, ge=0, description="0 is even, 1 linear")


class ClassLadderPartition(_PartitionSection):
    """From one class for the first participant to all classes for the last."""

    kind: Literal["class-ladder"] = Field(description="How to divide the samples")
    samples_each: int = Field(ge=1, description="Samples that each participant gets")


Partition = Annotated[
    HomogeneousPartition
    | ImbalancedPartition
    | RatioPartition
    | PowerLawPartition
    | DirichletPartition
    | PathologicalPartition
    | ClassLadderPartition,
    Field(discriminator="kind"),
]
