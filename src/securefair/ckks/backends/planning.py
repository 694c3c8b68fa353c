"""The planning backend: public facts only, nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.evaluator import Evaluator
from securefair.ckks.layers import AffineLayer, Layer
from securefair.ckks.specs import AffineSpec, FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor

Nothing = CipherTensor[None]


class PlanningEvaluator(Evaluator[None]):
    """Runs a circuit to learn its levels, noise, sizes and whether it is possible at all.

    Attributes:
        relinearized, turned: most limbs of a ciphertext so far whose keys were switched, of
            products and by a Galois key.
    """

    relinearized, turned = 0, 0

    def load(self, data: bytes | memoryview, meta: CipherMeta) -> Nothing:
        """A stand-in for the upload that the plan describes."""
        del data
        return CipherTensor(meta, None)

    def _linear(
        self, x: Nothing, spec: AffineSpec, layer: Layer | None, meta: CipherMeta
    ) -> None: ...

    def _paired_linear(
        self, x: Nothing, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> None: ...

    def _interleaved_linear(
        self, x: Nothing, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> None:
        del spec, layer, meta
        self.turned = max(self.turned, x.meta.limbs)

    def _real_part(self, x: Nothing) -> None:
        self.turned = max(self.turned, x.meta.limbs)

    def _gather(self, blocks: Sequence[Nothing], rows: NDArray[np.int64]) -> None: ...

    def _combine(self, x: Nothing, y: Nothing, sign: int) -> None: ...

    def _square(self, x: Nothing) -> None: ...

    def _square_sums(self, x: Nothing, groups: NDArray[np.int64]) -> None: ...

    def _multiply(self, x: Nothing, y: Nothing) -> None: ...

    def _inner(self, x: Nothing, y: Nothing) -> None: ...

    def _outer(self, x: Nothing, y: Nothing) -> None: ...

    def _inner_plain(
        self, x: Nothing, spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> None: ...

    def _outer_plain(
        self, x: Nothing, spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> None: ...

    def _relinearize(self, x: Nothing) -> None:
        self.relinearized = max(self.relinearized, x.meta.limbs)

    def _rescale(self, x: Nothing, limbs: int) -> None: ...

    def _sanitize(self, x: Nothing, log2_amplitude: int) -> None: ...

    def _extract(self, x: Nothing, coefficients: NDArray[np.int64] | None) -> bytes:
        del x, coefficients
        return b""
