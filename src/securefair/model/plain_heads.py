"""Linear and quadratic heads of numpy arrays, trained by full batches: what controls need.

The same heads from the same seeds as `heads` and `training` make with torch, to the rounding of
sums, by gradients that are written out: torch takes most of a second to load, and on some dozens
of patients every step of it costs several of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import DataError, ModelError
from securefair.model.folded import FoldedNetwork
from securefair.model.folding import Folding
from securefair.model.linear_maps import DenseMap
from securefair.model.optimizer import OptimizerConfig
from securefair.model.squares import SLOPE_INITIAL, SQUARE_FLOOR, SQUARE_INITIAL

Array = NDArray[np.float64]
HeadKind = Literal["linear", "quadratic"]

_diverging = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""Infinite numbers are refused by the next step, which says whose they are."""


@dataclass(frozen=True, eq=False, repr=False)
class PlainHead:
    """A head and how it moves: z = W x + b, or z = W (a u^2 + s u) + b with u = V x + c.

    Attributes:
        parameters: W (M, d) and b (M,); or V (H, d), c (H,), the logarithm of a's gain () as in
            `heads.QuadraticHead`, s (), W (M, H) and b (M,).
        momentum: of every parameter; empty before the first step.
    """

    parameters: tuple[Array, ...]
    momentum: tuple[Array, ...] = ()

    @classmethod
    def drawn(
        cls, kind: HeadKind, features: int, hidden: int, classes: int, seed: int
    ) -> PlainHead:
        """What `heads.build_head` draws of the same arguments, bit for bit."""
        draws = _Draws(seed)
        if kind == "linear":
            return cls(draws.layer(features, classes))
        square = (np.zeros(()), np.array(SLOPE_INITIAL))
        return cls((*draws.layer(features, hidden), *square, *draws.layer(hidden, classes)))

    def __repr__(self) -> str:
        """Its shape; parameters are private and never print."""
        return f"{type(self).__name__}({[one.shape for one in self.parameters]}, redacted)"

    @_diverging
    def logits(self, features: Array) -> Array:
        """Features (B, d) -> logits (B, M)."""
        *first, weights, bias = self.parameters
        result: Array = (_hidden(first, features)[1] if first else features) @ weights.T + bias
        return result

    @_diverging
    def loss(self, samples: Samples) -> float:
        """Mean cross-entropy, all samples alike, in nats.

        Raises:
            DataError: there are no samples.
        """
        if len(samples) == 0:
            raise DataError("there is nothing to evaluate on", found="0 samples")
        return float(-_of_labels(_log_softmax(self.logits(samples.features)), samples).mean())

    def accuracy(self, samples: Samples) -> float:
        """Share of samples whose largest logit is that of their class."""
        return float((self.logits(samples.features).argmax(axis=1) == samples.labels).mean())

    @_diverging
    def trained(self, samples: Samples, optimizer: OptimizerConfig, steps: int) -> PlainHead:
        """After so many full-batch steps on cross-entropy, in which samples count by their weights.

        Raises:
            ModelError: the training diverged.
        """
        head = self
        for step in range(steps):
            loss, gradients = head._gradients(samples)
            norm = math.sqrt(sum(float((each**2).sum()) for each in gradients))
            if not (math.isfinite(loss) and math.isfinite(norm)):
                raise ModelError(
                    "the training diverged",
                    where=f"step {step + 1} of {steps}",
                    found=f"loss {loss:g}",
                    hint="Lower the learning rate, or set clip_norm",
                )
            head = head._stepped(gradients, norm, optimizer)
        return head

    def folded(self) -> FoldedNetwork:
        """The same function as linear maps with pure squares between them."""
        *first, weights, bias = self.parameters
        output = DenseMap(weights, bias)
        if not first:
            return Folding.of((weights.shape[1],)).dense(output).network()
        inner, shift, gain, slope = first
        folding = Folding.of((inner.shape[1],)).dense(DenseMap(inner, shift))
        folding = folding.quadratic(_square(gain), slope, np.zeros(()))
        return folding.dense(output).network()

    def _gradients(self, samples: Samples) -> tuple[float, list[Array]]:
        """Mean cross-entropy, and its gradient by every parameter."""
        x, (*first, weights, bias) = samples.features, self.parameters
        u, h = _hidden(first, x) if first else (x, x)
        logs = _log_softmax(h @ weights.T + bias)
        counts = np.ones(len(samples)) if samples.weights is None else samples.weights
        shares = counts / counts.sum()
        loss = float(-(shares * _of_labels(logs, samples)).sum())
        z = np.exp(logs)
        z[np.arange(len(samples)), samples.labels] -= 1
        z *= shares[:, None]
        output = [z.T @ h, z.sum(axis=0)]
        if not first:
            return loss, output
        square, slope = _square(first[2]), first[3]
        by_h = z @ weights
        by_u = by_h * (2 * square * u + slope)
        by_gain = np.asarray((by_h * u * u).sum() * (square - SQUARE_FLOOR))
        return loss, [by_u.T @ x, by_u.sum(axis=0), by_gain, np.asarray((by_h * u).sum()), *output]

    def _stepped(self, gradients: list[Array], norm: float, of: OptimizerConfig) -> PlainHead:
        """As `training.TrainState.step`."""
        share = 1.0 if of.clip_norm is None else min(of.clip_norm / (norm + 1e-6), 1.0)
        along = [
            share * gradient + of.weight_decay * parameter
            for gradient, parameter in zip(gradients, self.parameters, strict=True)
        ]
        if self.momentum:
            along = [
                of.momentum * kept + each for kept, each in zip(self.momentum, along, strict=True)
            ]
        moved = [
            p - of.learning_rate * each for p, each in zip(self.parameters, along, strict=True)
        ]
        return replace(self, parameters=tuple(moved), momentum=tuple(along))


class _Draws:
    """What torch's generator draws from a seed: doubles of the Mersenne twister.

    Source: MT19937RNGEngine.h and DistributionsHelper.h of torch's ATen: it is seeded by the lower
    32 bits, and of two words, the higher first, 53 bits are a number in [0, 1).
    """

    def __init__(self, seed: int) -> None:
        self._words = np.random.RandomState(seed & 0xFFFFFFFF)

    def layer(self, inputs: int, outputs: int) -> tuple[Array, Array]:
        """Weights (outputs, inputs) and biases (outputs,), uniform within 1/sqrt(inputs)."""
        bound = 1 / math.sqrt(inputs)
        weights, bias = (self._unit(count) for count in (outputs * inputs, outputs))
        return (2 * weights.reshape(outputs, inputs) - 1) * bound, (2 * bias - 1) * bound

    def _unit(self, count: int) -> Array:
        words = self._words.randint(0, 1 << 32, size=2 * count, dtype=np.uint32).astype(np.uint64)
        joined = (words[0::2] << np.uint64(32)) | words[1::2]
        numbers: Array = (joined & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53
        return numbers


def _hidden(first: list[Array], features: Array) -> tuple[Array, Array]:
    """Values of the hidden units before their square, and after it, (B, H) each."""
    inner, shift, gain, slope = first
    u = features @ inner.T + shift
    return u, u * (_square(gain) * u + slope)


def _square(gain: Array) -> Array:
    """The coefficient a of the square."""
    return np.asarray(SQUARE_FLOOR + (SQUARE_INITIAL - SQUARE_FLOOR) * np.exp(gain))


def _log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def _of_labels(logs: Array, samples: Samples) -> Array:
    """The entry of everyone's own class, (B,)."""
    result: Array = logs[np.arange(len(samples)), samples.labels]
    return result
