"""A hospital's own patients as the designs of its penalised fits.

Linear fits penalise slopes by lambda/2 |beta|^2 and the intercept by 0.05/2 b^2: a class that a
hospital lacks keeps its logit, bounded by that penalty. Quadratic fits add products of features
under the same penalty, scaled so that

    |features of x . features of x'| = x.x' + 0.1 (x.x')^2 / m,      m = mean |x|^2

which are the weights of linear and quadratic terms in `model.kernel`.

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
from securefair.model.transfer.polynomial import Degree, Polynomial

Array = NDArray[np.float64]

INTERCEPT_PENALTY = 0.05


@dataclass(frozen=True, eq=False)
class Design:
    """Coordinates of one hospital's patients, and the way back from coefficients to a polynomial.

    Attributes:
        coordinates: (n, r) of the patients, without the intercept.
        rotation: (P, r), orthonormal columns: feature coefficients = rotation @ coefficients.
        features: d.
        outputs: L.
        product_scale: of the products of features, or None for linear fits.
    """

    coordinates: Array
    rotation: Array
    features: int
    outputs: int
    product_scale: float | None

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

    def polynomial(self, coefficients: Array) -> Polynomial:
        """The function of the features that coefficients (L (r + 1),) stand for."""
        by_logit = coefficients.reshape(self.outputs, self.slopes + 1)
        full = by_logit[:, :-1] @ self.rotation.T
        linear, constant = full[:, : self.features], by_logit[:, -1]
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
    rotation = np.eye(columns.shape[1])
    if columns.shape[1] > len(x):
        rotation = np.linalg.svd(columns, full_matrices=False)[2].T
    return Design(
        columns @ rotation,
        rotation,
        x.shape[1],
        outcome_of(samples).outputs(samples.classes),
        scale,
    )


def _product_weights(features: int) -> Array:
    """1 for squares and sqrt 2 for mixed products: then products multiply like (x.x')^2."""
    rows, columns = np.triu_indices(features)
    return np.where(rows == columns, 1.0, np.sqrt(2.0))
