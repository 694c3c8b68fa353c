"""What a model of a transfer is: a polynomial of the features of degree one or two per logit.

A head that can be evaluated under encryption represents any of them exactly. Fits that see leaves
of public trees as well are `leafed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError
from securefair.model.folded import FoldedNetwork, dense_network
from securefair.model.linear_maps import DenseMap
from securefair.model.probabilities import probabilities_of

Array = NDArray[np.float64]
Degree = Literal[1, 2]


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial:
    """f_l(x) = constant_l + linear_l . x + x' square_l x for each of L logits.

    Attributes:
        constant: (L,).
        linear: (L, d).
        square: (L, d, d), symmetric, or None for degree one.
        spread: deviation of held-out patients from it, where a number is predicted; else None. It
            is of the whole function alone: sums of functions have none.

    Raises:
        ModelError: shapes disagree or a number is not finite.
    """

    constant: Array
    linear: Array
    square: Array | None = None
    spread: float | None = None

    def __post_init__(self) -> None:
        width, features = self.linear.shape
        if self.constant.shape != (width,) or (
            self.square is not None and self.square.shape != (width, features, features)
        ):
            raise ModelError("a polynomial's coefficients disagree", found=self.linear.shape)
        parts = [self.constant, self.linear] + ([] if self.square is None else [self.square])
        if self.spread is not None:
            parts.append(np.array(self.spread))
        if not all(np.isfinite(part).all() for part in parts):
            raise ModelError("a polynomial holds a NaN or an infinite number")

    def __repr__(self) -> str:
        """Its size; coefficients are private and never print."""
        width, features = self.linear.shape
        return f"{type(self).__name__}({features} -> {width}, degree {self.degree}, redacted)"

    def close_to(self, other: Polynomial, *, within: float) -> bool:
        """Whether no coefficient differs by more than this part of the largest one of either."""
        if self.linear.shape != other.linear.shape or self.degree != other.degree:
            return False
        pairs = [(self.constant, other.constant), (self.linear, other.linear)]
        if self.square is not None and other.square is not None:
            pairs.append((self.square, other.square))
        largest = max(float(np.abs(part).max(initial=0)) for pair in pairs for part in pair)
        return all(np.abs(one - two).max(initial=0) <= within * largest for one, two in pairs)

    @property
    def degree(self) -> Degree:
        """One or two."""
        return 1 if self.square is None else 2

    @property
    def classes(self) -> int:
        """M: one logit stands for two classes."""
        return 2 if len(self.constant) == 1 else len(self.constant)

    @property
    def parameters_a_logit(self) -> int:
        """Numbers that determine one logit as a function of the features."""
        features = int(self.linear.shape[1])
        return 1 + features + (features * (features + 1) // 2 if self.degree == 2 else 0)

    def widened(self, further: int) -> Polynomial:
        """The same of so many features more, the last ones, which it does not look at."""
        if not further:
            return self
        square = self.square
        if square is not None:
            square = np.pad(square, ((0, 0), (0, further), (0, further)))
        linear = np.pad(self.linear, ((0, 0), (0, further)))
        return Polynomial(self.constant, linear, square, self.spread)

    def logits(self, features: Array) -> Array:
        """Features (B, d) -> logits (B, L).

        Raises:
            ModelError: the features' shape does not fit.
        """
        if features.ndim != 2 or features.shape[1] != self.linear.shape[1]:
            raise ModelError(
                "the features do not fit the model",
                found=features.shape,
                expected=f"(B, {self.linear.shape[1]})",
            )
        result: Array = self.constant + features @ self.linear.T
        if self.square is not None:
            result += np.einsum("bi,lij,bj->bl", features, self.square, features, optimize=True)
        return result

    def predict_proba(self, features: Array) -> Array:
        """Features (B, d) -> probabilities (B, M)."""
        return probabilities_of(self.logits(features))

    def folded(self) -> FoldedNetwork:
        """The same function with L outputs as affine maps with squares between.

        A quadratic logit is a quadratic form of (x, 1), which is a sum of d + 1 squares of affine
        maps, one for each eigenvector: rows of norm 1 with their bias, weighted by eigenvalues.
        """
        if self.square is None:
            return dense_network(DenseMap(self.linear, self.constant))
        width, features = self.linear.shape
        rows = np.empty((width, features + 1, features + 1))
        outputs = np.zeros((width, width, features + 1))
        for logit in range(width):
            form = np.empty((features + 1, features + 1))
            form[:-1, :-1] = self.square[logit]
            form[:-1, -1] = form[-1, :-1] = self.linear[logit] / 2
            form[-1, -1] = self.constant[logit]
            values, vectors = np.linalg.eigh(form)
            rows[logit], outputs[logit, logit] = vectors.T, values
        units = rows.reshape(-1, features + 1)
        return dense_network(
            DenseMap(units[:, :-1].copy(), units[:, -1].copy()),
            DenseMap(outputs.reshape(width, -1), np.zeros(width)),
        )
