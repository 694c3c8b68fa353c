"""What is averaged: families of settings, each judged by the hospital's own held-out patients.

A family is settings of one design, fitted side by side. What peers said enters as parts: functions
that a setting adds to its own fit, each in a share of its own. Deployed is the average over the
settings of all families, the own fits alone among them,

    sum_c w_c (own fit of c + sum_p share_cp part_p),       w_c proportional to exp(-S_c)

as one function: the weights sum to 1, and sums of such functions are such functions. A new way to
learn from peers, or to fit, is a family more; it competes with the others for the same weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from securefair.model.transfer.averaging import Validated, averaging_weights
from securefair.model.transfer.design import Design
from securefair.model.transfer.leafed import Fitted, weighted_sum

Array = NDArray[np.float64]

LEAVES_HANDICAP = 1.0
"""Leaves fit much by chance: without it few patients lose up to 0.01 nats each where there is
nothing to learn; with more, tables with steps gain less. Of a hospital that has only its own
patients to tell which is the case."""


@dataclass(frozen=True, eq=False)
class Family:
    """Settings of one design.

    Attributes:
        design: of the own part of every setting.
        validated: the settings, each fitted on all patients and judged on held-out ones.
        parts: what settings add to the own part: shares (S,), and a function.
        with_peers: whether anything that a peer said is in it.
        leaves_handicap: of designs of leaves, see `handicap`.
    """

    design: Design
    validated: Validated
    parts: Sequence[tuple[Array, Fitted]] = ()
    with_peers: bool = True
    leaves_handicap: float = LEAVES_HANDICAP

    @property
    def handicap(self) -> float:
        """Nats by which its fits must foretell held-out patients better to count as much."""
        return 0.0 if self.design.trees is None else self.leaves_handicap

    @property
    def scores(self) -> Array:
        """S_c, (S,), with the handicap."""
        result: Array = self.validated.scores + self.handicap
        return result

    def deployed(self, weights: Array) -> Fitted:
        """The sum of its settings' functions with weights (S,) that need not add up to 1."""
        own = self.design.function(weights @ self.validated.coefficients)
        shares = [float(weights @ share) for share, _ in self.parts]
        return weighted_sum([1.0, *shares], [own, *(part for _, part in self.parts)])


@dataclass(frozen=True, eq=False)
class Averaged:
    """The average over all settings of some families.

    Attributes:
        model: to be deployed.
        in_peers: sum of the weights of settings with peers, in [0, 1].
        by_design: sum of the weights of settings of each family of fits, by its name.
        held_out: its predictors of each patient by fits that did not see it, as `Validated`.
    """

    model: Fitted
    in_peers: float
    by_design: Mapping[str, float]
    held_out: Array


def evidence_of_leaves(families: Sequence[Family]) -> float:
    """By how many nats fits of leaves foretell a hospital's held-out patients better than others.

    The logarithm of a quotient of means of exp(-S_c): over the settings with leaves, and over those
    without. 0 where either are missing.

    Args:
        families: of the same patients and folds.
    """
    leaves, others = (
        [-one.validated.scores for one in families if (one.design.trees is not None) is found]
        for found in (True, False)
    )
    if not leaves or not others:
        return 0.0
    means = [
        logsumexp(scores) - np.log(len(scores))
        for scores in (np.concatenate(leaves), np.concatenate(others))
    ]
    return float(means[0] - means[1])


def average(families: Sequence[Family]) -> Averaged:
    """Weigh all settings of all families by how well they predict held-out patients.

    Args:
        families: of the same patients and folds; at least one.
    """
    weights = averaging_weights(np.concatenate([one.scores for one in families]))
    ends = np.cumsum([len(one.validated.losses) for one in families])
    by_family = np.split(weights, ends[:-1])
    pairs = list(zip(by_family, families, strict=True))
    models = [family.deployed(each) for each, family in pairs]
    by_design = dict.fromkeys([family.design.family for family in families], 0.0)
    for each, family in pairs:
        by_design[family.design.family] += float(each.sum())
    return Averaged(
        model=weighted_sum([1.0] * len(models), models),
        in_peers=float(sum(each.sum() for each, family in pairs if family.with_peers)),
        by_design=by_design,
        held_out=np.sum(
            [np.einsum("s,s...->...", each, family.validated.held_out) for each, family in pairs],
            axis=0,
        ),
    )
