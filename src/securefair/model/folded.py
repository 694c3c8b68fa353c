"""A head as encryption sees it: affine maps with pure squares between them.

What leaves this module knows nothing of torch: a `FoldedHead` is numbers, ready to be quantised
(`securefair.model.quantize`) and evaluated under encryption.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError


@dataclass(frozen=True, eq=False, repr=False)
class AffineMap:
    """x -> weights @ x + bias, with weights (out, in) and bias (out,), both float64.

    Raises:
        ModelError: shapes disagree or a number is not finite.
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.bias.shape != self.weights.shape[:1]:
            raise ModelError(
                "an affine map's weights and bias disagree",
                found=f"{self.weights.shape} and {self.bias.shape}",
                expected="(out, in) and (out,)",
            )
        if not (np.isfinite(self.weights).all() and np.isfinite(self.bias).all()):
            raise ModelError(
                "an affine map holds a NaN or an infinite number",
                hint="The training diverged; lower the learning rate",
            )

    def apply(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, in) -> (B, out)."""
        return inputs @ self.weights.T + self.bias


@dataclass(frozen=True, eq=False)
class FoldedHead:
    """Affine maps applied in order, every two of them with a square of each value between.

    Raises:
        ModelError: no layer, or a layer does not fit the one before it.
    """

    layers: tuple[AffineMap, ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise ModelError("a folded head needs at least one layer")
        for before, after in zip(self.layers, self.layers[1:], strict=False):
            if after.weights.shape[1] != before.weights.shape[0]:
                raise ModelError(
                    "two layers of a folded head do not fit",
                    found=f"{before.weights.shape[0]} values into {after.weights.shape[1]}",
                )

    def __repr__(self) -> str:
        """Its widths; weights are private and never print."""
        widths = [self.features, *(len(layer.bias) for layer in self.layers)]
        return f"{type(self).__name__}({' -> '.join(map(str, widths))}, redacted)"

    @property
    def features(self) -> int:
        """Width of the input, d."""
        return int(self.layers[0].weights.shape[1])

    @property
    def classes(self) -> int:
        """Width of the output, M."""
        return int(self.layers[-1].weights.shape[0])

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Features (B, d) -> logits (B, M)."""
        return _stages(self, features)[-1][1]


@dataclass(frozen=True, kw_only=True)
class StageRange:
    """How large the values of one stage are on given samples, over all samples and units."""

    stage: str  # "features", "affine 1", "square 1", "affine 2", ...
    rms: float
    maximum: float  # of the absolute value


def activation_ranges(head: FoldedHead, features: NDArray[np.float64]) -> tuple[StageRange, ...]:
    """Root mean square and largest magnitude of every stage on one's own features (B, d), B >= 1.

    A planner of scales wants to know how large the values under encryption become. The figures
    describe these samples only: another participant's may be larger, so leave head room.
    """
    return tuple(
        StageRange(
            stage=name,
            rms=float(np.sqrt(np.mean(values**2))),
            maximum=float(np.abs(values).max()),
        )
        for name, values in _stages(head, features)
    )


def _stages(
    head: FoldedHead, features: NDArray[np.float64]
) -> list[tuple[str, NDArray[np.float64]]]:
    """Every intermediate value in order, by name; the last one is the logits."""
    stages = [("features", features)]
    for index, layer in enumerate(head.layers, start=1):
        if index > 1:
            stages.append((f"square {index - 1}", stages[-1][1] ** 2))
        stages.append((f"affine {index}", layer.apply(stages[-1][1])))
    return stages
