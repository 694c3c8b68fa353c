"""The rns backend: everything between upload and answer on residue arrays, without SEAL objects.

numpy arrays on the processor, tensors on a card (`kernels` chooses who computes on them).
SEAL still does whatever samples or touches a key: encryptions of zero, decryption.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from securefair.ckks import rules
from securefair.ckks.backends import interleaved, kernels, pairs, wire
from securefair.ckks.backends.arrivals import Arrivals, ArrivedKey, Map, Room, arrive
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.entropy import uniform_residues
from securefair.ckks.backends.patched import PatchMap, Payload, Squares, linear_patches, whole
from securefair.ckks.backends.public_zeros import PublicZeros
from securefair.ckks.backends.residues import (
    Device,
    Residues,
    concatenate,
    contiguous,
    copied,
    in_memory,
    named_device,
    placed,
    repeated,
    stack,
    zeros_like,
)
from securefair.ckks.backends.rns_keys import (
    ResidueDecryptor,
    ResidueEncryptor,
    polynomial_residues,
)
from securefair.ckks.backends.seal_context import SealContext, SealObject
from securefair.ckks.backends.seal_keyed import SealKeyedBackend
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.keys import PublicKeys
from securefair.ckks.layers import AffineLayer, Layer, pair_weights
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.patches import PatchLayer
from securefair.ckks.specs import AffineSpec, FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.config import defaults
from securefair.errors import EncryptionError

RnsTensor = CipherTensor[Payload]


class RnsEvaluator(Evaluator[Payload]):
    """Residues int32 (d, polys, limbs, N) in NTT form, on one device; uploads as they arrived."""

    def __init__(self, params: CkksParameters, public: PublicKeys, device: Device) -> None:
        super().__init__(params)
        self._device = device
        self._zeros = PublicZeros(params, public.encryption)
        self._relinearization = self._checked(public.relinearization)
        self._galois = self._checked(public.galois)
        self._room = Room()

    def open_keys(self) -> None:
        """See `Evaluator`."""
        self._zeros.open()
        for key in (self._relinearization, self._galois):
            if key is not None:
                key.expanded()

    def _checked(self, key: bytes) -> ArrivedKey | None:
        """A switching key, expanded when it is used; None where the plan lists none."""
        if not key:
            return None
        first, seeds, limbs = wire.split_switching_key(key, self.params)
        primes = (*self.params.primes[:limbs], self.params.special_prime)
        basis = Basis(self.params.ring_degree, primes)
        return ArrivedKey(first, seeds, basis, self._device)

    def load(self, data: bytes | memoryview, meta: CipherMeta) -> RnsTensor:
        """Check the residues; seeds are expanded where they are used."""
        first, seeds = wire.split_upload(wire.unchanging(data), meta)
        payload = arrive(first, seeds, self._basis(meta), self._device, self._room)
        return CipherTensor(meta, payload)

    def prepare(self, limbs: int, count: int, *, most: int | None = None) -> int:
        """See `Evaluator`."""
        return self._zeros.prepare(limbs, count, most=most)

    def meanwhile(self, limbs: int, count: int) -> AbstractContextManager[None]:
        """See `Evaluator`; with a single thread there is nobody else to make them."""
        if self._device is None and kernels.describe().threads < 2:
            return super().meanwhile(limbs, count)
        return self._zeros.meanwhile(limbs, count)

    def _linear(
        self, x: RnsTensor, spec: AffineSpec, layer: Layer | None, meta: CipherMeta
    ) -> Payload:
        if layer is None:
            raise EncryptionError("only planning works without weights")
        if isinstance(layer, PatchLayer):
            rows = np.stack([np.zeros(layer.inputs, np.int64), np.arange(layer.inputs)], axis=1)
            return self._linear_from([x], rows, spec, layer, meta)
        weights, bias = layer.weights, self._bias(layer, meta)
        if isinstance(x.payload, Arrivals):
            return x.payload.apply([(weights, bias)])
        return kernels.linear(weights, whole(x.payload), self._basis(meta), bias)

    def _quadratic(
        self,
        x: RnsTensor,
        maps: Sequence[tuple[AffineSpec, AffineLayer]],
        metas: tuple[CipherMeta, CipherMeta, CipherMeta],
    ) -> Payload:
        if not isinstance(x.payload, Arrivals):
            return super()._quadratic(x, maps, metas)
        (inner_spec, inner), (_, outer) = maps
        last = outer.weights, self._bias(outer, metas[2])
        if x.meta.paired:
            first = self._pair_map(inner, rules.paired_linear(x.meta, inner_spec))
            key, special = self._galois_key("conjugation"), self.params.special_prime
            return x.payload.apply_paired((first, last), key, special)
        return x.payload.apply([(inner.weights, self._bias(inner, metas[0])), last])

    def _paired_linear(
        self, x: RnsTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Payload:
        del spec
        if layer is None:
            raise EncryptionError("only planning works without weights")
        weights, bias = self._pair_map(layer, meta)
        products = (
            x.payload.apply([(weights, bias)])
            if isinstance(x.payload, Arrivals)
            else kernels.linear(weights, whole(x.payload), self._basis(meta), bias)
        )
        units = len(weights) // 2
        return pairs.join(products[:units], products[units:], self._basis(meta))

    def _pair_map(self, layer: AffineLayer, meta: CipherMeta) -> Map:
        """w z with the bias, then v z, for z = x + J y and weights w - J v."""
        bias = self._bias(layer, meta)
        return pair_weights(layer), concatenate([bias, zeros_like(bias)])

    def _interleaved_linear(
        self, x: RnsTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Payload:
        del spec
        if layer is None:
            raise EncryptionError("only planning works without weights")
        key, special = self._galois_key("rotation"), self.params.special_prime
        return interleaved.hidden_units(
            layer.weights,
            whole(x.payload),
            self._bias(layer, meta),
            x.meta.parts,
            key,
            special,
            self._basis(x.meta),
        )

    def _real_part(self, x: RnsTensor) -> Payload:
        key, special = self._galois_key("conjugation"), self.params.special_prime
        return pairs.add_conjugates(whole(x.payload), key, special, self._basis(x.meta))

    def _galois_key(self, name: str) -> Residues:
        if self._galois is None:
            raise EncryptionError(f"the peer sent no {name} key")
        return self._galois.expanded()

    def _linear_from(
        self,
        blocks: Sequence[RnsTensor],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
        meta: CipherMeta,
    ) -> Payload:
        if not isinstance(layer, PatchLayer):
            return super()._linear_from(blocks, rows, spec, layer, meta)
        patches = self._patch_map(rows, layer, meta)
        return linear_patches([block.payload for block in blocks], patches, self._basis(meta))

    def _patch_map(self, rows: NDArray[np.int64], layer: PatchLayer, meta: CipherMeta) -> PatchMap:
        patches = [(p.weights, p.reads, p.writes) for p in layer.patches]
        return PatchMap(rows, patches, self._bias(layer, meta))

    def _bias(self, layer: Layer, meta: CipherMeta) -> Residues:
        """Residues (outputs, limbs) of the bias at the scale that the ciphertexts then have."""
        scale, primes = 2.0**meta.log2_scale, self.params.primes[: meta.limbs]
        bias = [[round(b * scale) % p for p in primes] for b in layer.bias.tolist()]
        return placed(np.array(bias), self._device)

    def _gather(self, blocks: Sequence[RnsTensor], rows: NDArray[np.int64]) -> Payload:
        each = [whole(block.payload) for block in blocks]
        return stack([each[block][row] for block, row in rows.tolist()])

    def _combine(self, x: RnsTensor, y: RnsTensor, sign: int) -> Payload:
        combine = kernels.add if sign > 0 else kernels.subtract
        return combine(whole(x.payload), whole(y.payload), self._basis(x.meta))

    def _square(self, x: RnsTensor) -> Payload:
        return kernels.square(whole(x.payload), self._basis(x.meta))

    def _square_sums(self, x: RnsTensor, groups: NDArray[np.int64]) -> Payload:
        values = whole(x.payload)
        return kernels.sum_products(values, values, groups, groups, self._basis(x.meta))

    def _rescaled_square_sums(
        self, x: RnsTensor, groups: NDArray[np.int64], meta: CipherMeta
    ) -> Payload:
        if meta.limbs == x.meta.limbs:
            return self._square_sums(x, groups)
        basis = self._basis(x.meta)
        return kernels.rescaled_square_sums(whole(x.payload), groups, meta.limbs, basis)

    def _square_sums_from(
        self,
        blocks: Sequence[RnsTensor],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
        meta: CipherMeta,
        groups: NDArray[np.int64],
    ) -> Payload:
        if not isinstance(layer, PatchLayer):
            return super()._square_sums_from(blocks, rows, spec, layer, meta, groups)
        patches, basis = self._patch_map(rows, layer, meta), self._basis(meta)
        arrived = [block.payload for block in blocks if isinstance(block.payload, Arrivals)]
        if len(arrived) == len(blocks):
            return Squares(arrived, patches, groups, basis)
        each = [whole(block.payload) for block in blocks]
        return kernels.square_patches(each, rows, patches.patches, basis, patches.bias, groups)

    def _multiply(self, x: RnsTensor, y: RnsTensor) -> Payload:
        return kernels.multiply(whole(x.payload), whole(y.payload), self._basis(x.meta))

    def _inner(self, x: RnsTensor, y: RnsTensor) -> Payload:
        return kernels.inner(whole(x.payload), whole(y.payload), self._basis(x.meta))

    def _outer(self, x: RnsTensor, y: RnsTensor) -> Payload:
        return kernels.outer(whole(x.payload), whole(y.payload), self._basis(x.meta))

    def _inner_plain(
        self, x: RnsTensor, spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> Payload:
        del spec
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        basis = self._basis(x.meta)
        factors = placed(polynomial_residues(polynomials, basis), self._device)
        return _total(kernels.multiply_plain(whole(x.payload), factors, basis), basis)

    def _outer_plain(
        self, x: RnsTensor, spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> Payload:
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        basis = self._basis(x.meta)
        factors = placed(polynomial_residues(polynomials, basis), self._device)
        copies = repeated(whole(x.payload), spec.count)
        return kernels.multiply_plain(copies, factors, basis)

    def _relinearize(self, x: RnsTensor) -> Payload:
        return self._rescaled_relinearize(x, x.meta)

    def _rescaled_relinearize(self, x: RnsTensor, meta: CipherMeta) -> Payload:
        if self._relinearization is None:
            raise EncryptionError("the peer sent no relinearisation key")
        key, special = self._relinearization.expanded(), self.params.special_prime
        return kernels.relinearize(whole(x.payload), key, special, self._basis(x.meta), meta.limbs)

    def _rescale(self, x: RnsTensor, limbs: int) -> Payload:
        return kernels.rescale(whole(x.payload), limbs, self._basis(x.meta))

    def _sanitize(self, x: RnsTensor, log2_amplitude: int) -> Payload:
        meta, basis = x.meta, self._basis(x.meta)
        noise = uniform_residues(
            log2_amplitude,
            (meta.count, self.params.ring_degree),
            np.array(self.params.primes[: meta.limbs]),
        )
        flood = placed(noise, self._device)
        kernels.ntt_forward_(flood, basis)
        out = copied(whole(x.payload))
        kernels.add_to_first_(out, flood, basis)
        for shift in range(meta.polys - 1):
            zeros = placed(self._zeros.take(meta.limbs, meta.count), self._device)
            both: Any = out[:, shift : shift + 2]
            masked = contiguous(both)
            kernels.add_(masked, zeros, basis)
            both[:] = masked
        return out

    def _extract(self, x: RnsTensor, coefficients: NDArray[np.int64] | None) -> bytes:
        residues = whole(x.payload)
        if coefficients is None:
            return in_memory(residues).astype("<u4", copy=False).tobytes()
        first = contiguous(residues[:, 0])
        values = kernels.coefficients(first, coefficients.tolist(), self._basis(x.meta))
        masks = in_memory(residues[:, 1:]).astype(np.uint32)
        return wire.write_answer(masks, in_memory(values.swapaxes(1, 2)).astype(np.uint32))

    def _basis(self, meta: CipherMeta) -> Basis:
        return Basis(self.params.ring_degree, self.params.primes[: meta.limbs])


def _total(x: Residues, basis: Basis) -> Residues:
    """The sum (1, polys, limbs, N) of ciphertexts (d, polys, limbs, N), which are overwritten."""
    while len(x) > 1:  # halves: few calls
        half = len(x) // 2
        kernels.add_(x[:half], x[len(x) - half :], basis)
        x = x[: len(x) - half]
    return copied(x)


class RnsBackend(SealKeyedBackend):
    """Residue kernels.

    Args:
        device: of the teacher's side, see `residues.named_device`.

    Raises:
        ConfigError: no such device.
        BackendUnavailableError: there is no such card; or nothing was compiled for this processor
            when it was installed, and what compiles kernels now is missing.
    """

    name = "rns"
    own_encoding = True

    def __init__(self, device: str = defaults.PROCESSOR) -> None:
        self._device = named_device(device)
        if not kernels.available():
            named_device(defaults.SAME_KERNELS)  # what then computes on arrays

    @classmethod
    def on_device(cls, device: str) -> Self:
        """See `Backend`."""
        return cls(device)

    def _ends(
        self, context: SealContext, secret: SealObject
    ) -> tuple[ResidueEncryptor, ResidueDecryptor]:
        return ResidueEncryptor(context, secret), ResidueDecryptor(context, secret)

    def evaluator(self, params: CkksParameters, public: PublicKeys) -> RnsEvaluator:
        """An evaluator under one student's public keys."""
        return RnsEvaluator(params, public, self._device)
