"""[transfer]: one answer from every teacher."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from securefair.config import defaults
from securefair.config.base import Section
from securefair.config.registers import SUMS, Named

Degree = Literal[1, 2]
"""Of a fit: linear, quadratic."""


class TransferSection(Section):
    """[transfer]: one answer from every teacher, taken as an offset of one's own fit."""

    fit: Literal["linear", "quadratic", "trees"] = Field(
        default="linear",
        description="Form of the model that everybody answers from; trees: leaves of public random "
        "trees beside the features, which says what any model says but sends 512 features more",
    )
    q: int = Field(
        default=defaults.TRANSFER_Q,
        ge=1,
        le=1024,
        description="Most numbers of a logit that an answer tells; fewer where fewer tell it all",
    )
    opened: Literal["auto", "each", "mean"] = Field(
        default="auto",
        description="Whether a student opens each answer or only their mean; auto: the mean from "
        "three teachers on",
    )
    sums: Annotated[str, Named(SUMS, ("auto", "none"))] = Field(
        default="auto",
        description="What hospitals add up under masks instead of asking about patients under "
        "encryption: nothing, their fits with diagonals of curvatures, or with whole curvatures; "
        "auto: by the rule of when-to-encrypt.md",
    )
    peers: int = Field(
        default=defaults.PEERS,
        ge=2,
        le=1000,
        description="Others that a hospital asks, or some more: the seed draws groups of so many "
        "and one, in which everybody asks everybody",
    )
    missing: int = Field(
        default=defaults.MISSING_TEACHERS,
        ge=0,
        le=1000,
        description="Teachers that a mean may be without, never so many that fewer than two are "
        "left; if more are away there is none. All hospitals of a group but so many and one know "
        "the fit of another if they work together",
    )


def degree_of(fit: str) -> Degree:
    """Of everybody's own regularised fit, in the features or in these and leaves."""
    return 2 if fit == "quadratic" else 1


def answers_from_leaves(fit: str) -> bool:
    """Whether answers are functions of the leaves of public trees as well."""
    return fit == "trees"


def answers_are_linear(fit: str) -> bool:
    """Whether answers are linear in the features alone, so that fits can be added up."""
    return degree_of(fit) == 1 and not answers_from_leaves(fit)
