"""Private affine maps with few distinct weights at many places: convolutions, pools, dense layers.

A convolution is a sparse matrix that repeats one small matrix at every position. A `PatchLayer`
says it that way: dense matrices, what each place reads, what it writes. One that is dense all over
is a single patch at a single place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Patch:
    """One integer matrix applied at several places.

    Attributes:
        weights: int64 (o, k).
        reads: (places, k) inputs that each place multiplies with.
        writes: (places, o) outputs that each place makes.
    """

    weights: NDArray[np.int64]
    reads: Indices
    writes: Indices

    def __repr__(self) -> str:
        """Secrets never print."""
        return f"Patch({self.weights.shape} at {len(self.reads)} places, redacted)"


@dataclass(frozen=True, eq=False)
class PatchLayer:
    """A private affine map: value = integers / 2^log2_scale of its public facts, and a bias.

    Attributes:
        inputs: number of ciphertexts it reads.
        patches: matrices and places; every output is written exactly once.
        bias: float64 (outputs,).

    Raises:
        ModelError: an index is out of range, or an output is not written exactly once.
    """

    inputs: int
    patches: tuple[Patch, ...]
    bias: NDArray[np.float64]

    def __post_init__(self) -> None:
        written = np.zeros(self.outputs, dtype=np.int64)
        for patch in self.patches:
            (o, k), places = patch.weights.shape, len(patch.reads)
            if patch.reads.shape != (places, k) or patch.writes.shape != (places, o):
                raise ModelError(
                    "a patch's places do not fit its weights",
                    found=f"{patch.reads.shape} and {patch.writes.shape}",
                    expected=f"(places, {k}) and (places, {o})",
                )
            for name, index, count in (
                ("reads", patch.reads, self.inputs),
                ("writes", patch.writes, self.outputs),
            ):
                if index.size and not 0 <= index.min() <= index.max() < count:
                    raise ModelError(
                        "a patch points nowhere",
                        where=name,
                        found=f"{index.min()} to {index.max()}",
                        expected=f"0 to {count - 1}",
                    )
            np.add.at(written, patch.writes, 1)
        if (written != 1).any():
            raise ModelError(
                "every output must be written by one place",
                found=f"{int((written != 1).sum())} outputs that are not",
            )

    def __repr__(self) -> str:
        """Secrets never print."""
        return f"PatchLayer({self.shape}, redacted)"

    @property
    def outputs(self) -> int:
        """Number of ciphertexts it makes."""
        return len(self.bias)

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, inputs), as of a matrix."""
        return self.outputs, self.inputs

    @property
    def largest(self) -> int:
        """Largest |weight|."""
        return max((int(np.abs(p.weights).max(initial=0)) for p in self.patches), default=0)

    @cached_property
    def row_norms(self) -> tuple[float, float]:
        """Largest l1 and l2 norm of a row of integers."""
        l1 = max((float(np.abs(p.weights).sum(axis=1).max()) for p in self.patches), default=0.0)
        squares = [(p.weights.astype(np.float64) ** 2).sum(axis=1).max() for p in self.patches]
        return l1, float(np.sqrt(max(squares, default=0.0)))

    @property
    def multiply_adds(self) -> int:
        """Products of a weight and a value for one sample."""
        return sum(p.weights.size * len(p.reads) for p in self.patches)

    def dense(self) -> NDArray[np.int64]:
        """The same as one matrix (outputs, inputs); of the size of that matrix."""
        matrix = np.zeros(self.shape, dtype=np.int64)
        for patch in self.patches:
            for reads, writes in zip(patch.reads, patch.writes, strict=True):
                np.add.at(matrix, np.ix_(writes, reads), patch.weights)
        return matrix

    def apply(self, values: NDArray[np.float64], log2_scale: int) -> NDArray[np.float64]:
        """Cleartext (inputs, n) -> (outputs, n)."""
        result = np.empty((self.outputs, values.shape[1]))
        for patch in self.patches:
            weights = np.ldexp(patch.weights.astype(np.float64), -log2_scale)
            for reads, writes in zip(patch.reads, patch.writes, strict=True):
                result[writes] = weights @ values[reads]
        return result + self.bias[:, None]
