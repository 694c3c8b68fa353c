"""The clear backend: the same circuits on floats, with the same checks.

Neither private nor meant to be: it is the oracle that encrypted runs are compared with, and a
fast stand-in for simulations. An upload is the float64 array itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.encoding import (
    at_roots,
    negacyclic_inner,
    negacyclic_product,
    to_coefficients,
)
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.interleaving import separate
from securefair.ckks.keys import Backend, PublicKeys, StudentKeys
from securefair.ckks.layers import AffineLayer, Layer, pair_weights
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.specs import AffineSpec, FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import EncryptionError
from securefair.storage.secret import Secret

Slots = NDArray[np.float64]
ClearTensor = CipherTensor[Slots]


class ClearEvaluator(Evaluator[Slots]):
    """Exact arithmetic on slots (d, N/2) or coefficients (d, N)."""

    _known: tuple[Slots, NDArray[np.complex128]] | None = None
    """Polynomials that were multiplied the last time, and their values at the roots."""

    def load(self, data: bytes | memoryview, meta: CipherMeta) -> ClearTensor:
        """Values as they were written by `ClearKeyHolder.encrypt`."""
        return CipherTensor(meta, _read(data, (meta.count, meta.width)))

    def _linear(
        self, x: ClearTensor, spec: AffineSpec, layer: Layer | None, meta: CipherMeta
    ) -> Slots:
        del meta
        if layer is None:
            raise EncryptionError("only planning works without weights")
        return layer.apply(x.payload, spec.log2_scale)

    def _paired_linear(
        self, x: ClearTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Slots:
        if layer is None:
            raise EncryptionError("only planning works without weights")
        del meta
        first, second = np.split(x.payload, 2, axis=1)
        products = pair_weights(layer) / 2.0**spec.log2_scale
        w, v = np.split(products, 2)
        real = w @ first + v @ second + layer.bias[:, None]
        return np.concatenate([real, w @ second - v @ first], axis=1)

    def _interleaved_linear(
        self, x: ClearTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Slots:
        if layer is None:
            raise EncryptionError("only planning works without weights")
        del meta
        features = separate(x.payload, x.meta.parts)[: spec.inputs]
        return np.tile(layer.apply(features, spec.log2_scale), x.meta.parts)

    def _real_part(self, x: ClearTensor) -> Slots:
        return np.split(x.payload, 2, axis=1)[0]

    def _gather(self, blocks: Sequence[ClearTensor], rows: NDArray[np.int64]) -> Slots:
        return np.stack([blocks[block].payload[row] for block, row in rows])

    def _combine(self, x: ClearTensor, y: ClearTensor, sign: int) -> Slots:
        values: Slots = x.payload + sign * y.payload
        return values

    def _square(self, x: ClearTensor) -> Slots:
        values: Slots = x.payload**2
        return values

    def _square_sums(self, x: ClearTensor, groups: NDArray[np.int64]) -> Slots:
        values: Slots = (x.payload**2)[groups].sum(axis=1)
        return values

    def _multiply(self, x: ClearTensor, y: ClearTensor) -> Slots:
        return x.payload * y.payload

    def _inner(self, x: ClearTensor, y: ClearTensor) -> Slots:
        total: Slots = (x.payload * y.payload).sum(axis=0, keepdims=True)
        return total

    def _outer(self, x: ClearTensor, y: ClearTensor) -> Slots:
        return (x.payload[:, None] * y.payload[None]).reshape(-1, x.payload.shape[1])

    def _inner_plain(
        self, x: ClearTensor, spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> Slots:
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        factors = polynomials / 2.0**spec.log2_scale
        known = self._known
        if known is None or known[0] is not x.payload:  # one upload gets many answers
            known = self._known = x.payload, at_roots(x.payload)
        return negacyclic_inner(known[1], factors)

    def _outer_plain(
        self, x: ClearTensor, spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> Slots:
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        values = x.payload
        if x.meta.packing == "slots":
            values = to_coefficients(values, self.params.ring_degree)
        return negacyclic_product(values, polynomials / 2.0**spec.log2_scale)

    def _relinearize(self, x: ClearTensor) -> Slots:
        return x.payload

    def _rescale(self, x: ClearTensor, limbs: int) -> Slots:
        del limbs
        return x.payload

    def _sanitize(self, x: ClearTensor, log2_amplitude: int) -> Slots:
        del log2_amplitude
        return x.payload

    def _extract(self, x: ClearTensor, coefficients: NDArray[np.int64] | None) -> bytes:
        if coefficients is None:
            return x.payload.astype("<f8").tobytes()
        values = x.payload
        if x.meta.packing == "slots":
            values = to_coefficients(values, self.params.ring_degree)
        released = values[:, coefficients]
        return released.astype("<f8").tobytes()


class ClearKeyHolder:
    """Stands where the secret key would be."""

    exact = True

    def encrypt(self, values: Slots, meta: CipherMeta) -> bytes:
        """Zero-padded values, as they are."""
        padded = np.zeros((meta.count, meta.width))
        padded[:, : values.shape[1]] = values
        return padded.astype("<f8").tobytes()

    def open(self, released: Released) -> Slots:
        """Values as they are."""
        meta = released.meta
        width = meta.width if released.coefficients is None else len(released.coefficients)
        return _read(released.data, (meta.count, width))


class ClearBackend(Backend):
    """No encryption at all."""

    name = "clear"
    planned_bytes = False

    def generate_keys(
        self, params: CkksParameters, *, relinearization: int = 0, galois: int = 0, element: int = 0
    ) -> StudentKeys:
        """No keys: the holder only copies."""
        del params, relinearization, galois, element
        holder = ClearKeyHolder()
        return StudentKeys(PublicKeys(b"", b""), holder, holder, lambda: Secret(b"clear"))

    def restore_keys(
        self, params: CkksParameters, public: PublicKeys, secret: Secret
    ) -> StudentKeys:
        """No keys."""
        del public, secret
        return self.generate_keys(params)

    def evaluator(self, params: CkksParameters, public: PublicKeys) -> ClearEvaluator:
        """An evaluator that needs no keys."""
        del public
        return ClearEvaluator(params)

    def mask_answer(
        self, meta: CipherMeta, coefficients: int, data: bytes, masks: NDArray[np.uint32]
    ) -> bytes:
        """As it is: nothing is hidden here."""
        del meta, coefficients, masks
        return data

    def add_answers(self, meta: CipherMeta, coefficients: int, answers: Sequence[bytes]) -> bytes:
        """The sum of the values."""
        if not answers:
            raise EncryptionError("there are no answers to add")
        parts = [_read(data, (meta.count, coefficients)) for data in answers]
        total = np.sum(parts, axis=0)
        return bytes(total.astype("<f8").tobytes())


def _read(data: bytes | memoryview, shape: tuple[int, int]) -> Slots:
    if len(data) != 8 * shape[0] * shape[1]:
        raise EncryptionError(
            "an upload or answer has the wrong length",
            found=len(data),
            expected=8 * shape[0] * shape[1],
            hint="Both sides need the same backend; only seal and rns read each other",
        )
    return np.frombuffer(data, dtype="<f8").reshape(shape).astype(np.float64)
