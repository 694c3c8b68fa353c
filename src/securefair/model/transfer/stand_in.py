"""A stand-in for any model: a function that encryption evaluates, fitted to what the model says.

A forest or a network cannot be evaluated on ciphertexts of this exchange. So a linear function of
the features and of the leaves of public trees (or a polynomial, as agreed) is fitted to its logits,
on the hospital's own patients and on synthetic ones: own patients with half of their features drawn
anew within the public range. No label takes part. What it answers is the stand-in's; the model
itself stays at home. How far both are apart is measured on patients, own and synthetic, that a fit
of four fifths of them did not see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Probabilities, Samples
from securefair.errors import ModelError
from securefair.model.probabilities import outputs
from securefair.model.probabilities import probabilities_of as probabilities
from securefair.model.transfer.design import Design
from securefair.model.transfer.leafed import Fitted

Array = NDArray[np.float64]

SYNTHETIC = 600
"""Synthetic patients, which count as much as all own ones together."""
RIDGE = 3.0
LARGEST_LOGIT = 4.0
"""Beyond it (98 %) a stand-in need not tell how sure the model is."""
FOLDS = 5


@dataclass(frozen=True)
class Disagreement:
    """How far a stand-in is from its model, on patients that it was not fitted to.

    Attributes:
        own, synthetic: mean distance of the probability of a class, in [0, 1].
        other_class: share of own patients of whom the most probable class is another.
    """

    own: float
    synthetic: float
    other_class: float


@dataclass(frozen=True, eq=False)
class StandIn:
    """What answers, and how far it is from the model that it stands for."""

    function: Fitted
    disagreement: Disagreement


def stand_in(
    model: Probabilities,
    patients: Samples,
    design_of: Callable[[Samples], Design],
    rng: np.random.Generator,
) -> StandIn:
    """Fit a stand-in.

    Args:
        model: features (B, d) -> probabilities (B, M).
        patients: own training patients, n >= 1; their labels are not looked at.
        design_of: patients -> the design that the stand-in is of.
        rng: draws synthetic patients and folds.

    Raises:
        ModelError: the model gives no probabilities of these classes.
    """
    everyone = _with_synthetic(patients, rng)
    said = _said(model, everyone.features, patients.classes)
    logits = _logits(said)
    own = np.arange(len(everyone)) < len(patients)
    counts = np.where(own, SYNTHETIC / max(1, len(patients)), 1.0)
    design = design_of(everyone)
    folds = rng.permutation(len(everyone)) % FOLDS
    held_out = np.zeros_like(logits)
    for fold in range(FOLDS):
        theta = _ridge(design, logits, counts * (folds != fold))
        held_out[folds == fold] = design.columns().logits(theta)[0][folds == fold]
    apart = np.abs(probabilities(held_out) - said).mean(axis=1)
    other = probabilities(held_out[own]).argmax(axis=1) != said[own].argmax(axis=1)
    return StandIn(
        design.function(_ridge(design, logits, counts)[0]),
        Disagreement(float(apart[own].mean()), float(apart[~own].mean()), float(other.mean())),
    )


def _with_synthetic(patients: Samples, rng: np.random.Generator) -> Samples:
    x = patients.features
    drawn = x[rng.integers(0, len(x), SYNTHETIC)]
    anew = rng.random(drawn.shape) < 0.5
    drawn = np.where(anew, rng.uniform(-1, 1, drawn.shape), drawn)
    labels = np.zeros(len(x) + SYNTHETIC, dtype=np.int64)
    return replace(
        patients,
        features=np.concatenate([x, drawn]),
        labels=labels,
        patients=None,
        weights=None,
    )


def _said(model: Probabilities, features: Array, classes: int) -> Array:
    said = np.asarray(model(features), dtype=np.float64)
    fits = said.shape == (len(features), classes) and np.isfinite(said).all()
    if not fits or (said < 0).any() or not np.allclose(said.sum(axis=1), 1, atol=1e-3):
        raise ModelError(
            "the model that is to teach gives no probabilities of these classes",
            found=said.shape,
            expected=f"({len(features)}, {classes}), rows that sum to 1",
        )
    return said


def _logits(said: Array) -> Array:
    """Logits (B, L) of no more than `LARGEST_LOGIT` either way."""
    logs = np.log(np.maximum(said, 1e-9))
    logits = logs[:, 1:] - logs[:, :1] if outputs(said.shape[1]) == 1 else logs
    if logits.shape[1] > 1:
        logits = logits - logits.mean(axis=1, keepdims=True)
    result: Array = np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT)
    return result


def _ridge(design: Design, logits: Array, counts: Array) -> Array:
    """Coefficients (1, L (r + 1)) of least squares; the intercept is hardly penalised."""
    columns = design.columns().own
    gram: Array = columns.T @ (counts[:, None] * columns)
    penalties = np.full(columns.shape[1], RIDGE)
    penalties[-1] = 1e-6
    gram[np.diag_indices(len(gram))] += penalties
    found = np.linalg.solve(gram, columns.T @ (counts[:, None] * logits))  # (r + 1, L)
    result: Array = np.asarray(found.T.reshape(1, -1), dtype=np.float64)
    return result
