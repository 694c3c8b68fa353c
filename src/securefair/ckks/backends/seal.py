"""The seal backend: linear layers as exact matrix products on residues, the rest by SEAL.

The reference of correctness for encrypted runs: slow, short, and works wherever TenSEAL does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import seal_interleaved, seal_keys, wire
from securefair.ckks.backends.entropy import uniform_residues
from securefair.ckks.backends.public_zeros import PublicZeros
from securefair.ckks.backends.seal_context import (
    SEAL_REFUSALS,
    SealContext,
    SealObject,
    seal_context,
)
from securefair.ckks.backends.seal_keyed import SealKeyedBackend
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.interleaving import element
from securefair.ckks.keys import PublicKeys
from securefair.ckks.layers import AffineLayer, Layer, pair_weights
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.specs import AffineSpec, FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import EncryptionError

Residues = NDArray[np.uint64]
SealTensor = CipherTensor[Residues]

EXACT_INTEGER = 2.0**53
"""float64 holds every integer up to here, so sums below it are exact."""


class SealEvaluator(Evaluator[Residues]):
    """Residues uint64 (d, polys, limbs, N) in NTT form; SEAL objects only inside an operation."""

    def __init__(self, params: CkksParameters, public: PublicKeys) -> None:
        super().__init__(params)
        self._public, self._loaded = public, dict[int, seal_keys.LoadedKey | None]()
        self._zeros = PublicZeros(params, public.encryption)
        for key in (public.relinearization, public.galois):
            if key:  # its residues are refused now rather than later
                wire.read_switching_key(key, params)

    @cached_property
    def _context(self) -> SealContext:
        return seal_context(self.params)

    @cached_property
    def _relinearization(self) -> seal_keys.LoadedKey | None:
        return seal_keys.load_relinearization_key(self._context, self._public.relinearization)

    def open_keys(self) -> None:
        """See `Evaluator`. A Galois key's bytes do not name its element."""
        self._zeros.open()
        _ = self._relinearization

    def load(self, data: bytes | memoryview, meta: CipherMeta) -> SealTensor:
        """Expand every seed with SEAL."""
        first, seeds = wire.read_upload(data, meta)
        # Of a first polynomial of zeros: SEAL gives whole ciphertexts out, and zeros at no cost.
        blank = np.zeros((1, *first.shape[1:]), dtype=np.uint64)
        masks = [
            self._context.residues(self._context.ciphertext(blank, seed=seed))[1] for seed in seeds
        ]
        return CipherTensor(meta, np.stack([first.astype(np.uint64), masks], axis=1))

    def prepare(self, limbs: int, count: int, *, most: int | None = None) -> int:
        """See `Evaluator`."""
        return self._zeros.prepare(limbs, count, most=most)

    def _linear(
        self, x: SealTensor, spec: AffineSpec, layer: Layer | None, meta: CipherMeta
    ) -> Residues:
        if layer is None:
            raise EncryptionError("only planning works without weights")
        return self._biased(self._products(layer.dense(), x, spec), layer, meta)

    def _paired_linear(
        self, x: SealTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Residues:
        if layer is None:
            raise EncryptionError("only planning works without weights")
        primes = self._column_primes(meta)
        first, second = np.split(self._products(pair_weights(layer), x, spec), 2)
        return self._biased((first - self._times_j(second, meta)) % primes, layer, meta)

    def _times_j(self, x: NDArray[np.int64], meta: CipherMeta) -> NDArray[np.int64]:
        """Residues (..., limbs, N) times J."""
        n = self.params.ring_degree
        shift = np.zeros((1, meta.limbs, n), dtype=np.uint64)
        shift[..., n // 2] = 1  # J as a polynomial
        moved: NDArray[np.int64] = x * self._context.to_ntt(shift)[0].astype(np.int64)
        return moved % self._column_primes(meta)

    def _galois_key(self, element: int) -> seal_keys.LoadedKey | None:
        """The peer's Galois key, which SEAL keeps by its element; the bytes do not name it."""
        if element not in self._loaded:
            galois = self._public.galois
            self._loaded[element] = seal_keys.load_galois_key(self._context, galois, element)
        return self._loaded[element]

    def _real_part(self, x: SealTensor) -> Residues:
        loaded = self._galois_key(seal_keys.conjugation(self._context))
        if loaded is None:
            raise EncryptionError("the peer sent no conjugation key")
        conjugate = loaded.context.evaluator.complex_conjugate_inplace
        mirrored = self._each(lambda c: conjugate(c, loaded.key), x.payload, loaded.context)
        values, conjugates = x.payload.astype(np.int64), mirrored.astype(np.int64)
        primes = self._column_primes(x.meta)
        total: Residues = ((values + conjugates) % primes).astype(np.uint64)
        return total

    def _interleaved_linear(
        self, x: SealTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Residues:
        if layer is None:
            raise EncryptionError("only planning works without weights")
        n, parts = self.params.ring_degree, x.meta.parts
        loaded, turn = self._galois_key(element(n, parts)), element(n, parts)
        if loaded is None:
            raise EncryptionError("the peer sent no rotation key")
        where, key = loaded.context, loaded.key

        def turned(values: Residues) -> Residues:
            rotate = where.evaluator.apply_galois_inplace
            return self._each(lambda c: rotate(c, turn, key), self._masked(values, x.meta), where)

        groups = [
            seal_interleaved.hidden_units(
                layer.weights[start : start + parts], x.payload, parts, turned, self._context
            )
            for start in range(0, spec.outputs, parts)
        ]
        return self._biased(np.concatenate(groups).astype(np.int64), layer, meta)

    def _products(
        self, weights: NDArray[np.int64], x: SealTensor, spec: AffineSpec
    ) -> NDArray[np.int64]:
        """Integer combinations of the ciphertexts, one a row of weights."""
        primes = self._column_primes(x.meta)
        largest = spec.l1 * 2.0**spec.log2_scale * float(primes.max())
        if largest > EXACT_INTEGER:
            raise EncryptionError(
                "the layer is too wide for an exact float64 product",
                found=f"sums of {math.log2(largest):.1f} bits",
            )
        columns = x.payload.reshape(x.meta.count, -1).astype(np.float64)
        sums = (weights.astype(np.float64) @ columns).astype(np.int64)
        products: NDArray[np.int64] = sums.reshape(len(weights), *x.meta.residue_shape[1:]) % primes
        return products

    def _biased(self, out: NDArray[np.int64], layer: Layer, meta: CipherMeta) -> Residues:
        for limb, prime in enumerate(self.params.primes[: meta.limbs]):
            # A constant polynomial has the same value at every root.
            bias = [round(b * 2.0**meta.log2_scale) % prime for b in layer.bias.tolist()]
            out[:, 0, limb] = (out[:, 0, limb] + np.array(bias)[:, None]) % prime
        residues: Residues = out.astype(np.uint64)
        return self._masked(residues, meta)

    def _gather(self, blocks: Sequence[SealTensor], rows: NDArray[np.int64]) -> Residues:
        return np.stack([blocks[block].payload[row] for block, row in rows])

    def _combine(self, x: SealTensor, y: SealTensor, sign: int) -> Residues:
        primes = self._column_primes(x.meta)
        total = x.payload.astype(np.int64) + sign * y.payload.astype(np.int64)
        residues: Residues = (total % primes).astype(np.uint64)
        return residues

    def _square(self, x: SealTensor) -> Residues:
        return self._each(self._context.evaluator.square_inplace, x.payload)

    def _square_sums(self, x: SealTensor, groups: NDArray[np.int64]) -> Residues:
        return np.stack([self._sum_of_products(x.payload[group]) for group in groups])

    def _multiply(self, x: SealTensor, y: SealTensor) -> Residues:
        pairs = zip(x.payload, y.payload, strict=True)
        return np.stack([self._sum_of_products(a[None], b[None]) for a, b in pairs])

    def _inner(self, x: SealTensor, y: SealTensor) -> Residues:
        return self._sum_of_products(x.payload, y.payload)[None]

    def _outer(self, x: SealTensor, y: SealTensor) -> Residues:
        pairs = [(a, b) for a in x.payload for b in y.payload]
        return np.stack([self._sum_of_products(a[None], b[None]) for a, b in pairs])

    def _inner_plain(
        self, x: SealTensor, spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> Residues:
        del spec
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        primes = self._column_primes(x.meta)
        residues = (polynomials[:, None] % primes).astype(np.uint64)
        factors = self._context.to_ntt(residues)
        moduli = primes.astype(np.uint64)
        products = x.payload * factors[:, None] % moduli
        total: Residues = products.sum(axis=0, keepdims=True) % moduli
        return total

    def _outer_plain(
        self, x: SealTensor, spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> Residues:
        if polynomials is None:
            raise EncryptionError("only planning works without polynomials")
        del spec
        primes = self._column_primes(x.meta)
        residues = (polynomials[:, None] % primes).astype(np.uint64)
        factors = self._context.to_ntt(residues)
        products: Residues = x.payload * factors[:, None] % primes.astype(np.uint64)
        return self._masked(products, x.meta)

    def _relinearize(self, x: SealTensor) -> Residues:
        loaded = self._relinearization
        if loaded is None:
            raise EncryptionError("the peer sent no relinearisation key")
        relinearize = loaded.context.evaluator.relinearize_inplace
        return self._each(lambda c: relinearize(c, loaded.key), x.payload, loaded.context)

    def _rescale(self, x: SealTensor, limbs: int) -> Residues:
        def down(ciphertext: SealObject) -> None:
            for left in range(x.meta.limbs - 1, limbs - 1, -1):
                words = self._context.parms_words(left)
                self._context.evaluator.rescale_to_inplace(ciphertext, words)

        return self._each(down, x.payload)

    def _sanitize(self, x: SealTensor, log2_amplitude: int) -> Residues:
        meta = x.meta
        primes = self._column_primes(meta).astype(np.uint64)
        out = x.payload.copy()
        for shift in range(meta.polys - 1):
            both = out[:, shift : shift + 2]
            both[:] = (both + self._zeros.take(meta.limbs, meta.count)) % primes
        noise = uniform_residues(
            log2_amplitude,
            (meta.count, self.params.ring_degree),
            np.array(self.params.primes[: meta.limbs]),
        )
        out[:, 0] = (out[:, 0] + self._context.to_ntt(noise.astype(np.uint64))) % primes
        return out

    def _extract(self, x: SealTensor, coefficients: NDArray[np.int64] | None) -> bytes:
        if coefficients is None:
            return x.payload.astype("<u4").tobytes()
        first = self._context.from_ntt(x.payload[:, 0])
        values = first[:, :, coefficients].swapaxes(1, 2)
        return wire.write_answer(x.payload[:, 1:].astype(np.uint32), values.astype(np.uint32))

    def _masked(self, residues: Residues, meta: CipherMeta) -> Residues:
        """A row of zero weights leaves no mask, which SEAL refuses: add an encryption of zero.

        The rules allow for its noise.
        """
        bare = ~residues[:, 1:].any(axis=(1, 2, 3))
        if bare.any():
            zeros = self._zeros.take(meta.limbs, int(bare.sum()))
            primes = self._column_primes(meta).astype(np.uint64)
            residues[bare, :2] = (residues[bare, :2] + zeros) % primes
        return residues

    def _sum_of_products(self, x: Residues, y: Residues | None = None) -> Residues:
        """sum_i x_i y_i of rows (n, polys, limbs, N), of squares without y: SEAL saves one sum."""
        evaluator, total = self._context.evaluator, None
        for at, row in enumerate(x):
            product = self._context.ciphertext(row)
            try:
                if y is None:
                    evaluator.square_inplace(product)
                else:
                    evaluator.multiply_inplace(product, self._context.ciphertext(y[at]))
                if total is not None:
                    evaluator.add_inplace(product, total)
            except SEAL_REFUSALS as error:
                raise EncryptionError("SEAL refuses an operation", found=str(error)) from error
            total = product
        return self._context.residues(total)

    def _each(
        self,
        operation: Callable[[SealObject], None],
        residues: Residues,
        context: SealContext | None = None,
    ) -> Residues:
        """One after the other, in a context that has fewer levels where a key has."""
        done, where = [], context or self._context
        for row in residues:
            ciphertext = where.ciphertext(row)
            try:
                operation(ciphertext)
            except SEAL_REFUSALS as error:
                raise EncryptionError("SEAL refuses an operation", found=str(error)) from error
            done.append(where.residues(ciphertext))
        return np.stack(done)

    def _column_primes(self, meta: CipherMeta) -> NDArray[np.int64]:
        """Primes (limbs, 1), to broadcast over residues (..., limbs, N)."""
        return np.array(self.params.primes[: meta.limbs], dtype=np.int64)[:, None]


class SealBackend(SealKeyedBackend):
    """SEAL through TenSEAL, one ciphertext at a time."""

    name = "seal"

    def _ends(
        self, context: SealContext, secret: SealObject
    ) -> tuple[seal_keys.SealEncryptor, seal_keys.SealDecryptor]:
        return seal_keys.SealEncryptor(context, secret), seal_keys.SealDecryptor(context, secret)

    def evaluator(self, params: CkksParameters, public: PublicKeys) -> SealEvaluator:
        """An evaluator under one student's public keys."""
        return SealEvaluator(params, public)
