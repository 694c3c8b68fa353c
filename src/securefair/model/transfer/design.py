"""A hospital's own patients as the designs of its penalised fits.

Linear fits penalise slopes by lambda/2 |beta|^2 and the intercept by 0.05/2 b^2: a class that a
hospital lacks keeps its logit, bounded by that penalty. Quadratic fits add products of features
under the same penalty, scaled so that

    |features of x . features of x'| = x.x' + 0.1 (x.x')^2 / m,      m = mean |x|^2

which are the weights of linear and quadratic terms in `model.kernel`.

Fits of the leaves of public trees take these as features, alone or beside the patients' own.

A penalty |beta|^2 does not change under rotations, and no fit leaves the span of its patients. So
fits with more features than patients run in as many coordinates as there are patients: exact, and
the reason why quadratic fits of few patients cost little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.model.kernel import QUADRATIC_WEIGHT
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.columns import Columns
from securefair.model.transfer.leafed import Fitted, Leafed
from securefair.model.transfer.polynomial import Degree, Polynomial
from securefair.model.transfer.public_trees import PublicTrees, public_trees

Array = NDArray[np.float64]

INTERCEPT_PENALTY = 0.05
LINEAR, QUADRATIC, TREES, BOTH = "linear", "quadratic", "trees", "both"
"""Families of fits."""


@dataclass(frozen=True, eq=False)
class Design:
    """Coordinates of one hospital's patients, and the way back from coefficients to a polynomial.

    Attributes:
        coordinates: (n, r) of the patients, without the intercept.
        rotation: (P, r), orthonormal columns: feature coefficients = rotation @ coefficients.
        features: d.
        outputs: L.
        product_scale: of the products of features, or None for fits without these.
        trees: whose leaves come last among the columns, or None.
        beside: whether features stand beside the leaves.
    """

    coordinates: Array
    rotation: Array
    features: int
    outputs: int
    product_scale: float | None = None
    trees: PublicTrees | None = None
    beside: bool = True

    @property
    def family(self) -> str:
        """What fits of this design are called."""
        if self.trees is not None:
            return BOTH if self.beside else TREES
        return LINEAR if self.product_scale is None else QUADRATIC

    @property
    def slopes(self) -> int:
        """Coefficients a logit without the intercept, r."""
        return int(self.coordinates.shape[1])

    def columns(self, teachers: Array | None = None) -> Columns:
        """Slopes and intercept of each logit; and `teachers`, (n, L, T) logits, if given."""
        with_intercept = np.column_stack([self.coordinates, np.ones(len(self.coordinates))])
        if teachers is None:
            teachers = np.empty((len(with_intercept), self.outputs, 0))
        return Columns(with_intercept, teachers)

    def penalties(self, slopes: float) -> Array:
        """(L (r + 1),): of every coefficient in the order of `columns`."""
        return np.tile(np.append(np.full(self.slopes, slopes), INTERCEPT_PENALTY), self.outputs)

    def function(self, coefficients: Array) -> Fitted:
        """The function of the features that coefficients (L (r + 1),) stand for."""
        by_logit = coefficients.reshape(self.outputs, self.slopes + 1)
        full, constant = by_logit[:, :-1] @ self.rotation.T, by_logit[:, -1]
        if self.trees is not None:
            linear = np.zeros((self.outputs, self.features))
            if self.beside:
                linear, full = full[:, : self.features].copy(), full[:, self.features :]
            return Leafed(Polynomial(constant.copy(), linear), self.trees, full.copy())
        linear = full[:, : self.features]
        if self.product_scale is None:
            return Polynomial(constant.copy(), linear.copy())
        upper = np.triu_indices(self.features)
        square = np.zeros((self.outputs, self.features, self.features))
        square[:, upper[0], upper[1]] = (
            full[:, self.features :] * _product_weights(self.features) * self.product_scale
        )
        return Polynomial(constant.copy(), linear.copy(), (square + np.swapaxes(square, 1, 2)) / 2)


def own_design(samples: Samples, degree: Degree) -> Design:
    """The design of a hospital's fits of that degree on its patients, (n, d) with n >= 1."""
    x = samples.features
    scale = None
    columns = x
    if degree == 2:
        power = float(np.mean((x**2).sum(axis=1)))
        scale = float(np.sqrt(QUADRATIC_WEIGHT / power)) if power > 0 else 1.0
        upper = np.triu_indices(x.shape[1])
        products = x[:, upper[0]] * x[:, upper[1]] * _product_weights(x.shape[1]) * scale
        columns = np.concatenate([x, products], axis=1)
    rotation = _rotation(columns)
    return Design(
        columns @ rotation,
        rotation,
        x.shape[1],
        outcome_of(samples).outputs(samples.classes),
        scale,
    )


def tree_design(samples: Samples, *, beside: bool) -> Design:
    """The design of fits of the leaves of everybody's public trees, n >= 1.

    Args:
        samples: the patients, flat features (n, d). Trees ask about those that everybody has.
        beside: with the features themselves beside the leaves.
    """
    x = samples.features
    trees = public_trees(int(x.shape[1]) - samples.further)
    columns = trees.mapped(x) if beside else trees.found(x)
    rotation = _rotation(columns)
    width = outcome_of(samples).outputs(samples.classes)
    return Design(columns @ rotation, rotation, x.shape[1], width, trees=trees, beside=beside)


def _rotation(columns: Array) -> Array:
    """Coordinates of the patients' span where they are fewer than the columns."""
    if columns.shape[1] <= len(columns):
        return np.eye(columns.shape[1])
    return np.linalg.qr(columns.T).Q


def _product_weights(features: int) -> Array:
    """1 for squares and sqrt 2 for mixed products: then products multiply like (x.x')^2."""
    rows, columns = np.triu_indices(features)
    return np.where(rows == columns, 1.0, np.sqrt(2.0))
