"""What a hospital does without anyone: regularised fits, tuned on its own patients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.model.transfer.averaging import Validated, averaging_weights, validate
from securefair.model.transfer.design import Design, own_design
from securefair.model.transfer.folds import FOLDS, stratified_folds
from securefair.model.transfer.polynomial import Degree, Polynomial, weighted_sum

Array = NDArray[np.float64]

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True, eq=False)
class OwnFit:
    """A hospital's fits on its own patients: the single best one, and all of them averaged.

    Attributes:
        model: the fit with the best penalty, on all own patients. It answers as a teacher, and it
            is the control "tuned alone".
        averaged: the average over penalties: the control "averaged alone".
        penalty: the best lambda by held-out loss; the smaller of equals.
        design, folds, validated: what a transfer goes on with.
    """

    model: Polynomial
    averaged: Polynomial
    penalty: float
    design: Design
    folds: NDArray[np.int64]
    validated: Validated
    samples: Samples

    @property
    def best(self) -> int:
        """Index of the best penalty."""
        return int(self.validated.scores.argmin())


def own_fit(
    samples: Samples, degree: Degree = 1, *, rng: np.random.Generator, folds: int = FOLDS
) -> OwnFit:
    """Fit by stratified cross-validation on one's own patients.

    A class without patients keeps a logit, bounded by the penalty of its intercept; with patients
    of one class only, the fit says that class with the confidence that their number allows. With
    fewer patients than folds every patient is held out once.

    Args:
        samples: own training patients, flat features (n, d).
        degree: 1 for linear logits, 2 for quadratic ones.
        rng: of the folds.
        folds: of the cross-validation.

    Raises:
        DataError: there are no patients, or features are no vectors.
    """
    if len(samples) == 0 or samples.features.ndim != 2:
        raise DataError(
            "nothing to fit a model to",
            found=samples.features.shape,
            expected="(n, d) with at least one patient",
        )
    design = own_design(samples, degree)
    dealt = stratified_folds(samples.labels, rng, folds)
    penalties = np.stack([design.penalties(slopes) for slopes in PENALTIES])
    offsets = np.zeros((len(PENALTIES), len(samples), design.outputs))
    validated = validate(design.columns(), samples, offsets, penalties, dealt)
    models = [design.polynomial(theta) for theta in validated.coefficients]
    weights = averaging_weights(validated.scores)
    best = int(validated.scores.argmin())
    return OwnFit(
        model=models[best],
        averaged=weighted_sum(weights.tolist(), models),
        penalty=PENALTIES[best],
        design=design,
        folds=dealt,
        validated=validated,
        samples=samples,
    )
