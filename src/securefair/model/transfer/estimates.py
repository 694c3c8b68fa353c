"""How sure the coefficients of a transfer are: a bootstrap over the hospital's own patients.

Coefficients are those of the linear settings, averaged by the weights that these have among
themselves: with what peers said (together), and without (alone). Leaves of public trees have none.
Every draw takes the hospital's patients with replacement. All settings are fitted to them anew, and
weighed anew by the same held-out losses where these are of patients. What peers said stays as it
was, so an interval says nothing of other patients at peers, and where everything rests on them it
is narrow. A penalty pulls coefficients and intervals towards 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from securefair.data.dataset import Samples
from securefair.data.people import drawn_times
from securefair.model.outcomes import outcome_of
from securefair.model.transfer.design import LINEAR
from securefair.model.transfer.families import Family
from securefair.model.transfer.leafed import Fitted, Leafed
from securefair.model.transfer.penalised import fit
from securefair.model.transfer.polynomial import Polynomial

Array = NDArray[np.float64]

DRAWS = 200
LEVELS = (0.90, 0.95)
"""Of intervals."""
LEAST_WEIGHT = 0.003
"""Settings of less, in the mean over draws, keep their coefficients in all of them."""
NEAR = 1e-4
"""Tolerance of fits of draws, which lie far further apart."""


@dataclass(frozen=True, eq=False, repr=False)
class LinearEstimates:
    """Coefficients of one hospital; private.

    Attributes:
        alone, together: (1 + draws, L, d): the estimate, then one of each draw.
        weight: share of the deployed average that is linear.
    """

    alone: Array
    together: Array
    weight: float

    def __repr__(self) -> str:
        """Its size; coefficients never print."""
        return f"{type(self).__name__}({self.alone.shape}, redacted)"


def intervals(drawn: Array) -> Array:
    """Percentile intervals of (1 + draws, ...), the estimate first: (..., levels, 2 ends)."""
    ends = [(1 + side * level) / 2 for level in LEVELS for side in (-1, 1)]
    found = np.moveaxis(np.quantile(drawn[1:], ends, axis=0), 0, -1)
    return found.reshape(*found.shape[:-1], len(LEVELS), 2)


def linear_estimates(
    samples: Samples, families: Sequence[Family], rng: np.random.Generator, draws: int = DRAWS
) -> LinearEstimates | None:
    """Coefficients of the linear settings, and what other patients might have given.

    Args:
        samples: own patients to whom all families were fitted: of a run all of them, test patients
            as well, like the model that is kept. Rows of one patient are drawn together.
        families: all that were averaged.
        rng: of the draws.
        draws: of the bootstrap.

    Returns:
        None where no setting alone is linear.
    """
    linear = [one for one in families if _is_linear(one)]
    if all(one.with_peers for one in linear):
        return None
    own = np.concatenate([np.full(len(one.scores), not one.with_peers) for one in linear])
    times = drawn_times(samples.who, draws, rng)
    scores = np.concatenate([_scores(one, times) for one in linear], axis=1)
    every = np.concatenate([one.scores for one in families])
    weights = [softmax(np.where(own, -scores, -np.inf), axis=1), softmax(-scores, axis=1)]
    counts = times if samples.weights is None else times * samples.weights
    ends = np.cumsum([len(one.scores) for one in linear])[:-1]
    by_family = [np.split(one, ends, axis=1) for one in weights]
    found = [
        _summed(family, each, samples, counts)
        for family, *each in zip(linear, *by_family, strict=True)
    ]
    alone, together = np.sum(found, axis=0)
    relative = np.exp(every.min() - every)
    linear_part = np.exp(every.min() - scores[0])
    return LinearEstimates(alone, together, float(linear_part.sum() / relative.sum()))


def _is_linear(family: Family) -> bool:
    parts = [part for _, part in family.parts]
    return family.design.family == LINEAR and not any(
        isinstance(part, Leafed) or part.square is not None for part in parts
    )


def _scores(family: Family, times: Array) -> Array:
    """Of every setting, as it is and in each draw, (1 + draws, S)."""
    losses = family.validated.losses
    drawn = np.repeat(family.scores[None], len(times), axis=0)
    if losses.shape[1] == times.shape[1]:
        drawn = times @ losses.T + family.handicap
    return np.concatenate([family.scores[None], drawn])


def _summed(family: Family, weights: Sequence[Array], samples: Samples, counts: Array) -> Array:
    """Coefficients of a family, summed over its settings by sets of weights (1 + draws, S).

    Returns:
        (sets, 1 + draws, L, d).
    """
    validated, design, draws = family.validated, family.design, len(counts)
    columns, likelihood = design.columns(), outcome_of(samples).likelihood(samples)
    every = np.repeat(validated.coefficients[:, None], 1 + draws, axis=1)
    # How far draws move a setting is much what they move it by where its penalties are the same.
    moved: dict[bytes, Array] = {}
    nearest = np.zeros_like(every[0, 1:])
    for at in np.flatnonzero(np.max([one.mean(axis=0) for one in weights], axis=0) > LEAST_WEIGHT):
        offsets, penalties = validated.offsets[at], validated.penalties[at]
        every[at, 1:] = fit(
            columns,
            likelihood,
            np.broadcast_to(offsets, (draws, *offsets.shape)),
            np.broadcast_to(penalties, (draws, *penalties.shape)),
            counts,
            every[at, 1:] + moved.get(penalties.tobytes(), nearest),
            tolerance=NEAR,
        )
        moved[penalties.tobytes()] = nearest = every[at, 1:] - every[at, 0]
    found = []
    for each in weights:
        by_logit = np.einsum("rs,srp->rp", each, every).reshape(1 + draws, design.outputs, -1)
        slopes = by_logit[..., :-1] @ design.rotation.T
        for share, part in family.parts:
            slopes += (each @ share)[:, None, None] * _polynomial(part).linear
        found.append(slopes)
    return np.stack(found)


def _polynomial(part: Fitted) -> Polynomial:
    return part.polynomial if isinstance(part, Leafed) else part
