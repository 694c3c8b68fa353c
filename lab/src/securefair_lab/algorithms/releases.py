"""What of a teacher's logits reaches a student, and how exactly the teacher computes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.data import Samples
from securefair.errors import ConfigError, ModelError
from securefair.model import (
    Head,
    balance_by_weights,
    block_signs,
    public_indices,
    public_rows,
    quantize_at,
    student_basis,
)
from securefair.model.networks import NetworkHead


@dataclass(frozen=True)
class LogitsRelease:
    """The student gets every logit of every of its samples."""


@dataclass(frozen=True, kw_only=True)
class ProjectionRelease:
    """The student gets q weighted sums over its samples, for each class.

    Raises:
        ConfigError: a number is out of range.
    """

    q: int = defaults.Q
    basis: Literal["public", "student"] = defaults.BASIS
    ring_degree: int = 8192  # public basis only
    public_seed: bytes = b"securefair"  # public basis only
    noise_std: float = 0.0  # of each released number, for rows of a student basis of peak 1

    def __post_init__(self) -> None:
        if self.basis not in ("public", "student"):
            raise ConfigError(
                "unknown basis", where="basis", found=self.basis, expected='"public" or "student"'
            )
        if self.basis == defaults.BASIS:
            public_indices(self.ring_degree, self.q, self.public_seed)  # raises if impossible
        if not 0 <= self.noise_std < math.inf:
            raise ConfigError("not a standard deviation", where="noise_std", found=self.noise_std)

    def rows(self, samples: Samples) -> NDArray[np.float64]:
        """The weights of one student's samples in each released number, (q, B).

        Raises:
            ConfigError: a student basis of q rows does not exist for these samples.
        """
        if self.basis == "student":
            return student_basis(samples, self.q)
        blocks = -(-len(samples) // (self.ring_degree // 2))
        return public_rows(
            self.ring_degree,
            public_indices(self.ring_degree, self.q, self.public_seed),
            len(samples),
            block_signs(blocks, self.public_seed),
        )

    def noise(self, rows: NDArray[np.float64]) -> float:
        """Deviation of each released number as the student's reconstruction expects it."""
        return self.noise_std * (float(np.abs(rows).max()) if self.basis == "student" else 1.0)


Release = LogitsRelease | ProjectionRelease


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """How teachers round their weights to integers at public scales, as encryption needs them."""

    row_norm: float  # of every hidden unit after balancing
    log2_scales: tuple[int, ...]  # one a layer

    def logits(self, head: Head, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Features (B, d) -> logits (B, M) of the rounded head.

        Raises:
            ModelError: a whole network, or another number of layers than scales.
        """
        if isinstance(head, NetworkHead):
            raise ModelError("only heads are rounded here", found=type(head).__name__)
        folded = balance_by_weights(head.folded(), self.row_norm)
        return quantize_at(folded, self.log2_scales).logits(features)
