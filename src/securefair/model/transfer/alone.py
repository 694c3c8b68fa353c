"""What a hospital does without anyone: regularised fits, tuned on its own patients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import DataError, ModelError
from securefair.model.outcomes import outcome_of
from securefair.model.transfer.averaging import Validated, validate
from securefair.model.transfer.design import Design, own_design, tree_design
from securefair.model.transfer.families import Family, average
from securefair.model.transfer.folds import FOLDS, stratified_folds
from securefair.model.transfer.leafed import Fitted, spreading
from securefair.model.transfer.polynomial import Degree, Polynomial
from securefair.model.transfer.public_trees import LEAVES

Array = NDArray[np.float64]

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
TREE_PENALTIES = (0.3, 3.0, 30.0)
"""Fewer: a family of trees takes many times as long as a linear one, and is as good with these."""
MOST_TREE_WORK = 1e7
"""Patients times coefficients squared up to which trees are fitted: some seconds."""


@dataclass(frozen=True, eq=False)
class OwnFit:
    """A hospital's fits on its own patients: the single best one, and all of them averaged.

    Attributes:
        model: the fit with the best penalty, on all own patients: the control "tuned alone".
        averaged: the average over penalties of all families: the control "averaged alone".
        penalty: the best lambda by held-out loss; the smaller of equals.
        design, validated: of the family that `model` is of, the first one.
        folds: of all families.
        families: what a transfer goes on with: fits of the agreed degree and, where that is 1 and
            patients are not too many, of leaves of public trees, alone and beside the features.
        narrow: where samples have features that others have not, the same fits without these.
    """

    model: Polynomial
    averaged: Fitted
    penalty: float
    design: Design
    folds: NDArray[np.int64]
    validated: Validated
    families: tuple[Family, ...]
    samples: Samples
    narrow: OwnFit | None = None

    @property
    def told(self) -> OwnFit:
        """The fits that answer as a teacher: of the features that everybody has."""
        return self.narrow or self

    @property
    def best_of_all(self) -> Fitted:
        """The best single fit of any family, on all own patients."""
        family = min(self.families, key=lambda one: float(one.validated.scores.min()))
        return family.design.function(
            family.validated.coefficients[family.validated.scores.argmin()]
        )

    @property
    def best(self) -> int:
        """Index of the best penalty."""
        return int(self.validated.scores.argmin())


def own_fit(
    samples: Samples,
    degree: Degree = 1,
    *,
    rng: np.random.Generator,
    folds: int = FOLDS,
    trees: bool = True,
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
        trees: average small trees with linear fits, where an outcome takes them.

    Raises:
        DataError: there are no patients, or features are no vectors.
    """
    if len(samples) == 0 or samples.features.ndim != 2:
        raise DataError(
            "nothing to fit a model to",
            found=samples.features.shape,
            expected="(n, d) with at least one patient",
        )
    return _own_fit(samples, degree, stratified_folds(samples, rng, folds), trees)


def _own_fit(
    samples: Samples, degree: Degree, dealt: NDArray[np.int64], trees: bool = True
) -> OwnFit:
    design = own_design(samples, degree)
    family = _fitted(design, samples, PENALTIES, dealt)
    outcome, best = outcome_of(samples), int(family.validated.scores.argmin())
    found = design.function(family.validated.coefficients[best])
    model = spreading(found, outcome.squares(family.validated.held_out[best], samples))
    if not isinstance(model, Polynomial):
        raise ModelError("the first family has no leaves", found=design.family)
    families = [family]
    takes_leaves = trees and degree == 1 and outcome.takes_leaves
    if takes_leaves and _tree_work(samples) <= MOST_TREE_WORK:
        families += [
            _fitted(tree_design(samples, beside=beside), samples, TREE_PENALTIES, dealt)
            for beside in (False, True)
        ]
    averaged = average(families)
    return OwnFit(
        model=model,
        averaged=spreading(averaged.model, outcome.squares(averaged.held_out, samples)),
        penalty=PENALTIES[best],
        design=design,
        folds=dealt,
        validated=family.validated,
        families=tuple(families),
        samples=samples,
        narrow=_own_fit(samples.common, degree, dealt, trees) if samples.further else None,
    )


def _fitted(
    design: Design, samples: Samples, penalties: Sequence[float], folds: NDArray[np.int64]
) -> Family:
    offsets = np.zeros((len(penalties), len(samples), design.outputs))
    each = np.stack([design.penalties(slopes) for slopes in penalties])
    validated = validate(design.columns(), samples, offsets, each, folds)
    return Family(design, validated, with_peers=False)


def _tree_work(samples: Samples) -> float:
    """What a fit of leaves takes: it has as many coefficients as patients, for each logit."""
    coefficients = outcome_of(samples).outputs(samples.classes) * min(len(samples), LEAVES)
    return float(len(samples) * coefficients**2)
