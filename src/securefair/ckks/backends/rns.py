"""The rns backend: everything between upload and answer on residue arrays, without SEAL objects.

Native kernels on the CPU, torch on a GPU or where nothing could be compiled (`kernels` chooses).
SEAL still does whatever samples or touches a key: encryptions of zero, decryption.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.ckks.backends import kernels, seal_keys, wire
from securefair.ckks.backends.answers import WireBackend
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.entropy import uniform_residues
from securefair.ckks.backends.rns_keys import (
    ResidueDecryptor,
    ResidueEncryptor,
    polynomial_residues,
)
from securefair.ckks.backends.seal_context import SealContext, SealObject, seal_context
from securefair.ckks.evaluator import Evaluator, Layer
from securefair.ckks.keys import PublicKeys, StudentKeys
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.patches import PatchLayer
from securefair.ckks.rules import AffineSpec, FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import EncryptionError
from securefair.storage.secret import Secret

RnsTensor = CipherTensor[torch.Tensor]


class RnsEvaluator(Evaluator[torch.Tensor]):
    """Residues int32 (d, polys, limbs, N) in NTT form, on one device."""

    def __init__(self, params: CkksParameters, public: PublicKeys, device: torch.device) -> None:
        super().__init__(params)
        self._device = device
        self._context = seal_context(params)
        self._zeros = seal_keys.load_public_key(self._context, public.encryption)
        key = seal_keys.seeded_relinearization_key(self._context, public.relinearization)
        basis = Basis(params.ring_degree, (*params.primes, params.special_prime))
        self._key = None if key is None else kernels.receive(*key, basis, device)

    def load(self, data: bytes, meta: CipherMeta) -> RnsTensor:
        """Check the residues and expand the seeds."""
        first, seeds = wire.split_upload(data, meta)
        return CipherTensor(meta, kernels.receive(first, seeds, self._basis(meta), self._device))

    def _linear(
        self, x: RnsTensor, spec: AffineSpec, layer: Layer | None, meta: CipherMeta
    ) -> torch.Tensor:
        if layer is None:
            raise EncryptionError("only planning works without weights")
        if isinstance(layer, PatchLayer):
            rows = np.stack([np.zeros(layer.inputs, np.int64), np.arange(layer.inputs)], axis=1)
            return self._linear_from([x], rows, spec, layer, meta)
        return kernels.linear(
            torch.from_numpy(layer.weights), x.payload, self._basis(meta), self._bias(layer, meta)
        )

    def _linear_from(
        self,
        blocks: Sequence[RnsTensor],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
        meta: CipherMeta,
    ) -> torch.Tensor:
        if not isinstance(layer, PatchLayer):
            return super()._linear_from(blocks, rows, spec, layer, meta)
        return kernels.linear_patches(
            [block.payload for block in blocks],
            torch.from_numpy(rows),
            _patches(layer),
            self._basis(meta),
            self._bias(layer, meta),
        )

    def _bias(self, layer: Layer, meta: CipherMeta) -> torch.Tensor:
        """Residues (outputs, limbs) of the bias at the scale that the ciphertexts then have."""
        scale, primes = 2.0**meta.log2_scale, self.params.primes[: meta.limbs]
        bias = [[round(b * scale) % p for p in primes] for b in layer.bias.tolist()]
        return torch.tensor(bias, dtype=torch.int32, device=self._device)

    def _gather(self, blocks: Sequence[RnsTensor], rows: NDArray[np.int64]) -> torch.Tensor:
        return torch.stack([blocks[block].payload[row] for block, row in rows.tolist()])

    def _combine(self, x: RnsTensor, y: RnsTensor, sign: int) -> torch.Tensor:
        combine = kernels.add if sign > 0 else kernels.subtract
        return combine(x.payload, y.payload, self._basis(x.meta))

    def _square(self, x: RnsTensor) -> torch.Tensor:
        return kernels.square(x.payload, self._basis(x.meta))

    def _square_sums(self, x: RnsTensor, groups: NDArray[np.int64]) -> torch.Tensor:
        index = torch.from_numpy(groups)
        return kernels.sum_products(x.payload, x.payload, index, index, self._basis(x.meta))

    def _square_sums_from(
        self,
        blocks: Sequence[RnsTensor],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
        meta: CipherMeta,
        groups: NDArray[np.int64],
    ) -> torch.Tensor:
        if not isinstance(layer, PatchLayer):
            return super()._square_sums_from(blocks, rows, spec, layer, meta, groups)
        return kernels.square_patches(
            [block.payload for block in blocks],
            torch.from_numpy(rows),
            _patches(layer),
            self._basis(meta),
            self._bias(layer, meta),
            torch.from_numpy(groups),
        )

    def _multiply(self, x: RnsTensor, y: RnsTensor) -> torch.Tensor:
        return kernels.multiply(x.payload, y.payload, self._basis(x.meta))

    def _inner(self, x: RnsTensor, y: RnsTensor) -> torch.Tensor:
        return kernels.inner(x.payload, y.payload, self._basis(x.meta))

    def _outer(self, x: RnsTensor, y: RnsTensor) -> torch.Tensor:
        return kernels.outer(x.payload, y.payload, self._basis(x.meta))

    def _inner_plain(
        self, x: RnsTensor, spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> torch.Tensor:
        del spec
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        basis = self._basis(x.meta)
        factors = polynomial_residues(polynomials, basis).to(self._device)
        products = kernels.multiply_plain(x.payload, factors, basis)
        if len(products) == 1:
            return products
        total = products.sum(dim=0, keepdim=True, dtype=torch.int64)  # 2^32 residues would fit
        return (total % basis.moduli(self._device)).to(torch.int32)

    def _outer_plain(
        self, x: RnsTensor, spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> torch.Tensor:
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        basis = self._basis(x.meta)
        factors = polynomial_residues(polynomials, basis).to(self._device)
        copies = x.payload.expand(spec.count, -1, -1, -1).contiguous()
        return kernels.multiply_plain(copies, factors, basis)

    def _relinearize(self, x: RnsTensor) -> torch.Tensor:
        if self._key is None:
            raise EncryptionError("the peer sent no relinearisation key")
        special = self.params.special_prime
        return kernels.relinearize(x.payload, self._key, special, self._basis(x.meta))

    def _rescale(self, x: RnsTensor, limbs: int) -> torch.Tensor:
        return kernels.rescale(x.payload, limbs, self._basis(x.meta))

    def _sanitize(self, x: RnsTensor, log2_amplitude: int) -> torch.Tensor:
        meta, basis = x.meta, self._basis(x.meta)
        noise = uniform_residues(
            log2_amplitude,
            (meta.count, self.params.ring_degree),
            np.array(self.params.primes[: meta.limbs]),
        )
        flood = _tensor(noise, self._device)
        kernels.ntt_forward_(flood, basis)
        out = x.payload.clone()
        kernels.add_to_first_(out, flood, basis)
        for shift in range(meta.polys - 1):
            zeros = _tensor(
                seal_keys.encryptions_of_zero(self._context, self._zeros, meta.limbs, meta.count),
                self._device,
            )
            masked = out[:, shift : shift + 2].contiguous()
            out[:, shift : shift + 2] = kernels.add(masked, zeros, basis)
        return out

    def _extract(self, x: RnsTensor, coefficients: NDArray[np.int64] | None) -> bytes:
        if coefficients is None:
            return x.payload.cpu().numpy().astype("<u4").tobytes()
        first = x.payload[:, 0].contiguous()
        values = kernels.coefficients(first, coefficients.tolist(), self._basis(x.meta))
        masks = x.payload[:, 1:].cpu().numpy().astype(np.uint32)
        return wire.write_answer(masks, values.swapaxes(1, 2).cpu().numpy().astype(np.uint32))

    def _basis(self, meta: CipherMeta) -> Basis:
        return Basis(self.params.ring_degree, self.params.primes[: meta.limbs])


class RnsBackend(WireBackend):
    """Residue kernels; `device` is a torch device for the teacher's side."""

    name = "rns"

    def __init__(self, device: str = "cpu") -> None:
        self._device = torch.device(device)

    def generate_keys(self, params: CkksParameters, *, relinearization: bool) -> StudentKeys:
        """SEAL's keys; encoding and transforms by the kernels."""
        context = seal_context(params)
        secret, public = seal_keys.generate(context, relinearization=relinearization)
        return _ring(context, secret, public)

    def restore_keys(
        self, params: CkksParameters, public: PublicKeys, secret: Secret
    ) -> StudentKeys:
        """SEAL's keys, as they were."""
        context = seal_context(params)
        return _ring(context, seal_keys.import_secret_key(context, secret.reveal()), public)

    def evaluator(self, params: CkksParameters, public: PublicKeys) -> RnsEvaluator:
        """An evaluator under one student's public keys."""
        return RnsEvaluator(params, public, self._device)


def _ring(context: SealContext, secret: SealObject, public: PublicKeys) -> StudentKeys:
    return StudentKeys(
        public,
        ResidueEncryptor(context, secret),
        ResidueDecryptor(context, secret),
        lambda: Secret(seal_keys.export_secret_key(context, secret)),
    )


def _tensor(values: NDArray[np.generic], device: torch.device) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.int32)).to(device)


def _patches(layer: PatchLayer) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    return [
        (torch.from_numpy(p.weights), torch.from_numpy(p.reads), torch.from_numpy(p.writes))
        for p in layer.patches
    ]
