"""What a transfer fits and deploys: polynomials of the features, with or without leaves of trees.

Own fits, what teachers are taken to say and the deployed average are all of these forms, and so is
every weighted sum of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError
from securefair.model.probabilities import probabilities_of
from securefair.model.transfer.polynomial import Polynomial
from securefair.model.transfer.public_trees import PublicTrees, public_trees

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Leafed:
    """f_l(x) = polynomial_l(x) + leaves_l . (leaves that the public trees find for x).

    Attributes:
        polynomial: of the features.
        trees: public ones, of all features or of the first ones.
        leaves: (L, leaves), what each leaf adds.

    Raises:
        ModelError: shapes disagree or a number is not finite.
    """

    polynomial: Polynomial
    trees: PublicTrees
    leaves: Array

    def __post_init__(self) -> None:
        expected = (len(self.polynomial.constant), self.trees.leaves)
        if self.leaves.shape != expected or not np.isfinite(self.leaves).all():
            raise ModelError(
                "the leaves do not fit the model", found=self.leaves.shape, expected=expected
            )

    def __repr__(self) -> str:
        """Its size; coefficients are private and never print."""
        width = self.polynomial.linear.shape[1]
        return f"{type(self).__name__}({width} + {self.trees.leaves} leaves, redacted)"

    @property
    def classes(self) -> int:
        """M: one logit stands for two classes."""
        return self.polynomial.classes

    def widened(self, further: int) -> Leafed:
        """See `Polynomial.widened`."""
        return replace(self, polynomial=self.polynomial.widened(further))

    def logits(self, features: Array) -> Array:
        """Features (B, d) -> logits (B, L).

        Raises:
            ModelError: the features' shape does not fit.
        """
        return self.polynomial.logits(features) + self.trees.found(features) @ self.leaves.T

    def predict_proba(self, features: Array) -> Array:
        """Features (B, d) -> probabilities (B, M)."""
        return probabilities_of(self.logits(features))

    def on_mapped(self) -> Polynomial:
        """The same as a linear function of `trees.mapped(x)`, which encryption evaluates.

        Raises:
            ModelError: the polynomial is quadratic.
        """
        if self.polynomial.square is not None:
            raise ModelError("products of features and leaves of trees do not go together")
        linear = np.concatenate([self.polynomial.linear, self.leaves], axis=1)
        return Polynomial(self.polynomial.constant, linear)


Fitted = Polynomial | Leafed


def spreading(model: Fitted, squares: float | None, others: Sequence[float] = ()) -> Fitted:
    """The same with how far held-out patients are from it.

    Args:
        model: a fit.
        squares: `StudyOutcome.squares` of own patients; None where that means nothing.
        others: of other hospitals, by their fits; each counts as much as the own ones.
    """
    if squares is None or isinstance(model, Leafed):
        return model
    return replace(model, spread=float(np.sqrt(np.mean([squares, *others]))))


def with_leaves(model: Fitted) -> Leafed:
    """The same function, with a number for every leaf."""
    if isinstance(model, Leafed):
        return model
    trees = public_trees(int(model.linear.shape[1]))
    return Leafed(model, trees, np.zeros((len(model.constant), trees.leaves)))


def of_mapped(model: Polynomial, trees: PublicTrees) -> Leafed:
    """What `Leafed.on_mapped` was made of."""
    width = model.linear.shape[1] - trees.leaves
    polynomial = Polynomial(model.constant, model.linear[:, :width])
    return Leafed(polynomial, trees, model.linear[:, width:])


def weighted_sum(weights: Sequence[float], models: Sequence[Fitted]) -> Fitted:
    """sum_c w_c f_c, of the highest degree among them, with leaves if any has some.

    Raises:
        ModelError: no models, or of different shapes.
    """
    polynomials = [one.polynomial if isinstance(one, Leafed) else one for one in models]
    if not models or len({one.linear.shape for one in polynomials}) != 1:
        raise ModelError("models of different shapes cannot be added", found=len(models))
    pairs = list(zip(weights, polynomials, strict=True))
    squares = [weight * one.square for weight, one in pairs if one.square is not None]
    result = Polynomial(
        np.sum([weight * one.constant for weight, one in pairs], axis=0),
        np.sum([weight * one.linear for weight, one in pairs], axis=0),
        np.sum(squares, axis=0) if squares else None,
    )
    leafed = [
        (weight, one)
        for weight, one in zip(weights, models, strict=True)
        if isinstance(one, Leafed)
    ]
    if not leafed:
        return result
    trees = leafed[0][1].trees
    if any(not trees.asks_like(one.trees) for _, one in leafed):
        raise ModelError("models of different trees cannot be added", found=len(leafed))
    return Leafed(result, trees, np.sum([weight * one.leaves for weight, one in leafed], axis=0))
