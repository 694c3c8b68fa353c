"""A teacher's private affine maps, and what is refused of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.patches import PatchLayer
from securefair.ckks.specs import AffineSpec
from securefair.errors import ModelError


@dataclass(frozen=True)
class AffineLayer:
    """A teacher's private affine map: value = integers / 2^log2_scale, and a bias.

    Attributes:
        weights: int64 (outputs, inputs).
        bias: float64 (outputs,).
    """

    weights: NDArray[np.int64]
    bias: NDArray[np.float64]

    def __repr__(self) -> str:
        """Secrets never print."""
        return f"AffineLayer({self.weights.shape}, redacted)"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, inputs)."""
        return self.weights.shape

    @property
    def largest(self) -> int:
        """Largest |weight|."""
        return int(np.abs(self.weights).max(initial=0))

    @property
    def row_norms(self) -> tuple[float, float]:
        """Largest l1 and l2 norm of a row of integers."""
        rows = np.abs(self.weights).astype(np.float64)
        l1, l2 = rows.sum(axis=1), np.sqrt((rows**2).sum(axis=1))
        return float(l1.max(initial=0.0)), float(l2.max(initial=0.0))

    def dense(self) -> NDArray[np.int64]:
        """The weights."""
        return self.weights

    def apply(self, values: NDArray[np.float64], log2_scale: int) -> NDArray[np.float64]:
        """Cleartext (inputs, n) -> (outputs, n)."""
        result: NDArray[np.float64] = (self.weights / 2.0**log2_scale) @ values
        return result + self.bias[:, None]


Layer: TypeAlias = AffineLayer | PatchLayer
"""A private affine map, as one matrix or as patches."""


def pair_weights(layer: AffineLayer) -> NDArray[np.int64]:
    """The map of pairs as real products: rows w, then rows v, int64 (2 outputs, pairs).

    Of (w - J v) z the products w z and v z are integer combinations of ciphertexts; J only moves
    coefficients of the second.
    """
    weights = np.pad(layer.weights, ((0, 0), (0, layer.weights.shape[1] % 2)))
    return np.concatenate([weights[:, ::2], weights[:, 1::2]])


def check_layer(spec: AffineSpec, layer: Layer | None) -> None:
    """Refuse weights beyond the public bound; it would break the noise bound or the flooding.

    Without weights, on paper, there is nothing to refuse.
    """
    if layer is None:
        return
    expected = (spec.outputs, spec.inputs)
    if layer.shape != expected or layer.bias.shape != expected[:1]:
        raise ModelError(
            "the model's shape differs from the plan",
            found=layer.shape,
            expected=expected,
        )
    if layer.largest > spec.max_integer:
        raise ModelError(
            "a quantised weight exceeds the plan", found=layer.largest, expected=spec.max_integer
        )
    for name, norm, cap in zip(("l1", "l2"), layer.row_norms, (spec.l1, spec.l2), strict=True):
        value = norm * 2.0**-spec.log2_scale
        if value > cap * (1 + 1e-9):
            raise ModelError(
                f"the {name} norm of a row of weights exceeds the plan",
                found=round(value, 4),
                expected=f"at most {cap}",
                hint="Plan with larger bounds, or train with more weight decay",
            )
