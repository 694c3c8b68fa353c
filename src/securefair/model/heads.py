"""Heads: what is trained, answers for its owner and is evaluated under encryption.

All parameters are float64, so that a cleartext run and an encrypted run of the same seed differ
by the encryption's error and nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from securefair.errors import ModelError
from securefair.model.folded import FoldedNetwork
from securefair.model.folding import Folding
from securefair.model.linear_maps import DenseMap
from securefair.model.plain_heads import HeadKind
from securefair.model.quadratic import coefficient
from securefair.model.squares import SLOPE_INITIAL


class Head(nn.Module, ABC):
    """A classifier of feature vectors: (B, d) -> logits (B, M), in float64."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        for name, value, least in (("features", features, 1), ("classes", classes, 2)):
            if not isinstance(value, int) or value < least:
                raise ModelError(
                    "a head of this size cannot be built",
                    where=name,
                    found=value,
                    expected=f"a whole number, at least {least}",
                )
        self.features = features
        self.classes = classes

    @abstractmethod
    def forward(self, features: Tensor) -> Tensor:
        """Features (B, d) float64 -> logits (B, M) float64."""

    def with_penalty(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, M), and what a loss pays besides, a scalar: 0, as weights bound a head."""
        logits: Tensor = self(features)
        return logits, logits.new_zeros(())

    @abstractmethod
    def folded(self) -> FoldedNetwork:
        """The same function as linear maps with pure squares between them, detached from torch."""

    @property
    def parameter_count(self) -> int:
        """Numbers that training changes: the disclosure bound of what the head can give away."""
        return sum(parameter.numel() for parameter in self.parameters())

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Features (B, d) -> logits (B, M), without a gradient.

        Raises:
            ModelError: the features' shape does not fit this head.
        """
        if features.ndim != 2 or features.shape[1] != self.features:
            raise ModelError(
                "the features do not fit the head",
                found=features.shape,
                expected=f"(B, {self.features})",
            )
        with torch.no_grad():
            result: NDArray[np.float64] = self(torch.tensor(features)).numpy()
        return result


class LinearHead(Head):
    """z = W x + b, softmax regression: under encryption, sums with cleartext weights only.

    Args:
        features: d, at least 1.
        classes: M, at least 2.
        generator: of the initial parameters.

    Raises:
        ModelError: a size is too small.
    """

    def __init__(self, features: int, classes: int, generator: torch.Generator) -> None:
        super().__init__(features, classes)
        self.output_weights = _uniform((classes, features), features, generator)
        self.output_bias = _uniform((classes,), features, generator)

    def forward(self, features: Tensor) -> Tensor:
        """Features (B, d) -> logits (B, M)."""
        return linear(features, self.output_weights, self.output_bias)

    def folded(self) -> FoldedNetwork:
        """One dense map."""
        output = _dense(self.output_weights, self.output_bias)
        return Folding.of((self.features,)).dense(output).network()


class QuadraticHead(Head):
    """z = W2 h + b2 with h = a u^2 + b u (per unit) and u = W1 x + b1.

    `a` and `b` are one learned pair for the whole layer. A pair per unit could express nothing
    more: completing the square turns every unit into a pure square of an affine map, and its
    a and b disappear into W1, b1, W2 and b2 (see `folded`). What they do change is the speed of
    training, and for that one pair is enough, with one floor to keep instead of many.

    a must stay away from 0, where folding would divide by it: a = f + (a0 - f) exp(rho), with the
    floor f = 1/32, a0 = 0.25 and rho learned from 0. It is positive without loss, since W2
    carries the sign, and weight decay pulls it back to a0 rather than to some arbitrary number.

    Args:
        features: d, at least 1.
        hidden: units of the layer, at least 1.
        classes: M, at least 2.
        generator: of the initial parameters.

    Raises:
        ModelError: a size is too small.
    """

    def __init__(
        self, features: int, hidden: int, classes: int, generator: torch.Generator
    ) -> None:
        super().__init__(features, classes)
        if not isinstance(hidden, int) or hidden < 1:
            raise ModelError(
                "a quadratic head needs hidden units",
                where="hidden",
                found=hidden,
                expected="a whole number, at least 1",
            )
        self.hidden = hidden
        self.hidden_weights = _uniform((hidden, features), features, generator)
        self.hidden_bias = _uniform((hidden,), features, generator)
        self.square_log_gain = nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.slope = nn.Parameter(torch.tensor(SLOPE_INITIAL, dtype=torch.float64))
        self.output_weights = _uniform((classes, hidden), hidden, generator)
        self.output_bias = _uniform((classes,), hidden, generator)

    @property
    def square(self) -> Tensor:
        """The coefficient a of the square, a scalar above SQUARE_FLOOR."""
        return coefficient(self.square_log_gain)

    def forward(self, features: Tensor) -> Tensor:
        """Features (B, d) -> logits (B, M)."""
        u = linear(features, self.hidden_weights, self.hidden_bias)
        return linear(u * (self.square * u + self.slope), self.output_weights, self.output_bias)

    def folded(self) -> FoldedNetwork:
        """Two dense maps; the square between them needs no coefficient."""
        a, b = _array(self.square), _array(self.slope)
        folding = Folding.of((self.features,)).dense(_dense(self.hidden_weights, self.hidden_bias))
        folding = folding.quadratic(a, b, np.zeros_like(b))
        return folding.dense(_dense(self.output_weights, self.output_bias)).network()


def build_head(kind: HeadKind, features: int, hidden: int, classes: int, seed: int) -> Head:
    """A freshly initialised head; equal arguments give equal parameters.

    Weights and biases are uniform within 1/sqrt(inputs of their layer), as torch initialises
    linear layers.

    Args:
        kind: "linear" or "quadratic".
        features: d, width of the features.
        hidden: units of the quadratic layer; the linear head ignores it.
        classes: M, width of the logits.
        seed: of the initial parameters.

    Raises:
        ModelError: unknown kind, or a size that is too small.
    """
    generator = torch.Generator().manual_seed(seed)
    if kind == "linear":
        return LinearHead(features, classes, generator)
    if kind == "quadratic":
        return QuadraticHead(features, hidden, classes, generator)
    raise ModelError("unknown kind of head", where="kind", found=kind, expected="linear, quadratic")


def _uniform(shape: tuple[int, ...], inputs: int, generator: torch.Generator) -> nn.Parameter:
    if not isinstance(generator, torch.Generator):
        raise ModelError(
            "parameters are drawn by a generator",
            where="generator",
            found=type(generator).__name__,
            expected="torch.Generator().manual_seed(0), or build_head with a seed",
        )
    bound = 1 / math.sqrt(inputs)
    unit = torch.rand(shape, generator=generator, dtype=torch.float64)
    return nn.Parameter((2 * unit - 1) * bound)


def _dense(weights: Tensor, bias: Tensor) -> DenseMap:
    return DenseMap(_array(weights), _array(bias))


def _array(parameter: Tensor) -> NDArray[np.float64]:
    values: NDArray[np.float64] = parameter.detach().numpy()
    return values
