"""The interface of computations on ciphertexts: rules once, arithmetic per backend.

A circuit is written against `Evaluator` and never learns which backend runs it. Every public
operation first applies its rule to the public facts (limbs, scale, bound, noise) and only then
lets the backend compute, so all backends refuse the same things.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.ckks import rules
from securefair.ckks.layers import AffineLayer, Layer, check_layer
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.plain_products import PlainProducts
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor

P = TypeVar("P")


@dataclass(frozen=True)
class Released:
    """What leaves the teacher: the answer's bytes and what is public about them.

    Attributes:
        meta: public facts of the ciphertexts it was taken from.
        coefficients: indices (q,) of the message coefficients let out, or None for all slots.
        data: the backend's wire format; empty when only planned.
    """

    meta: CipherMeta
    coefficients: NDArray[np.int64] | None
    data: bytes


class Evaluator(PlainProducts[P]):
    """Public arithmetic on whole CipherTensors; holds a peer's public material, no secret."""

    def __init__(self, params: CkksParameters) -> None:
        self.params = params

    def linear(self, x: CipherTensor[P], spec: AffineSpec, layer: Layer | None) -> CipherTensor[P]:
        """Apply a private affine map: (inputs) ciphertexts -> (outputs).

        `layer` may be None only where nothing is computed (planning).

        Raises:
            ModelError: the weights exceed what the public spec bounds.
        """
        check_layer(spec, layer)
        meta = rules.linear(x.meta, spec)
        return CipherTensor(meta, self._linear(x, spec, layer, meta))

    def paired_linear(
        self, x: CipherTensor[P], spec: AffineSpec, layer: AffineLayer | None
    ) -> CipherTensor[P]:
        """A private affine map of pairs, which `real_part` makes what `linear` makes of values.

        Pair i of features holds x_2i and x_2i+1, the last one a zero where there is an odd number.
        With J = X^(N/2) and J^2 = -1

            (w - J v) (x + J y) = (w x + v y) + J (w y - v x).

        The second part mixes weights in a way that no release names.

        Raises:
            ModelError: see `linear`.
        """
        check_layer(spec, layer)
        meta = rules.paired_linear(x.meta, spec)
        return CipherTensor(meta, self._paired_linear(x, spec, layer, meta))

    def real_part(self, x: CipherTensor[P], *, bound: float) -> CipherTensor[P]:
        """z + conj(z) of pairs, with the peer's conjugation key: only the first values are left.

        Args:
            x: pairs.
            bound: on the absolute value of what is left.
        """
        return CipherTensor(rules.real_part(x.meta, bound=bound), self._real_part(x))

    def interleaved_linear(
        self, x: CipherTensor[P], spec: AffineSpec, layer: AffineLayer | None
    ) -> CipherTensor[P]:
        """A private affine map of features beside each other, with the peer's rotation key:
        (ceil(inputs / parts)) ciphertexts -> (outputs), with samples in slots.

        Products hold sums of features with other weights than their own, which no release names.
        The sum over the powers of one automorphism removes them (`ckks.interleaving`).

        Raises:
            ModelError: see `linear`.
        """
        check_layer(spec, layer)
        meta = rules.interleaved_linear(x.meta, spec)
        return CipherTensor(meta, self._interleaved_linear(x, spec, layer, meta))

    def gather(self, blocks: Sequence[CipherTensor[P]], rows: NDArray[np.int64]) -> CipherTensor[P]:
        """Ciphertexts (block, row) of several tensors as one tensor, in the order of rows (n, 2).

        Raises:
            EncryptionError: the tensors differ in more than their count.
        """
        meta = rules.gathered([block.meta for block in blocks], len(rows))
        return CipherTensor(meta, self._gather(blocks, rows))

    def linear_from(
        self,
        blocks: Sequence[CipherTensor[P]],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
    ) -> CipherTensor[P]:
        """`linear` of what `gather` would return, which need not exist as a whole.

        Raises:
            ModelError, EncryptionError: see `linear` and `gather`.
        """
        check_layer(spec, layer)
        meta = rules.linear(rules.gathered([block.meta for block in blocks], len(rows)), spec)
        return CipherTensor(meta, self._linear_from(blocks, rows, spec, layer, meta))

    def square_sums(
        self, x: CipherTensor[P], groups: NDArray[np.int64], limbs: int | None = None
    ) -> CipherTensor[P]:
        """sum_t x_g(t)^2 for every group g of indices (groups, terms); three polynomials.

        One term a group is a plain square; four are a square and a 2x2 pool. `limbs`: x is rescaled
        to so many first, which need not exist as a whole.
        """
        lower = x.meta if limbs is None else rules.rescale(x.meta, limbs)
        meta = rules.group_sums(rules.multiply(lower, lower), *groups.shape)
        return CipherTensor(meta, self._rescaled_square_sums(x, groups, lower))

    def square_sums_from(
        self,
        blocks: Sequence[CipherTensor[P]],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
        groups: NDArray[np.int64],
    ) -> CipherTensor[P]:
        """`square_sums` of `linear_from`, which need not exist as a whole; raises as that."""
        check_layer(spec, layer)
        linear = rules.linear(rules.gathered([block.meta for block in blocks], len(rows)), spec)
        meta = rules.group_sums(rules.multiply(linear, linear), *groups.shape)
        return CipherTensor(meta, self._square_sums_from(blocks, rows, spec, layer, linear, groups))

    def quadratic(
        self, x: CipherTensor[P], maps: Sequence[tuple[AffineSpec, AffineLayer]]
    ) -> CipherTensor[P]:
        """outer(inner(x)^2) for maps (inner, outer), otherwise as `linear`; x may be pairs."""
        for spec, layer in maps:
            check_layer(spec, layer)
        (inner, _), (outer, _) = maps
        if x.meta.paired:
            hidden = rules.real_part(rules.paired_linear(x.meta, inner), bound=inner.bound)
        else:
            hidden = rules.linear(x.meta, inner)
        squares = rules.multiply(hidden, hidden)
        meta = rules.linear(squares, outer)
        return CipherTensor(meta, self._quadratic(x, maps, (hidden, squares, meta)))

    def add(self, x: CipherTensor[P], y: CipherTensor[P]) -> CipherTensor[P]:
        """x + y, ciphertext by ciphertext."""
        return CipherTensor(rules.add(x.meta, y.meta), self._combine(x, y, 1))

    def subtract(self, x: CipherTensor[P], y: CipherTensor[P]) -> CipherTensor[P]:
        """x - y, ciphertext by ciphertext."""
        return CipherTensor(rules.add(x.meta, y.meta), self._combine(x, y, -1))

    def square(self, x: CipherTensor[P]) -> CipherTensor[P]:
        """x^2 in every slot; three polynomials."""
        return CipherTensor(rules.multiply(x.meta, x.meta), self._square(x))

    def multiply(self, x: CipherTensor[P], y: CipherTensor[P]) -> CipherTensor[P]:
        """x_c y_c in every slot for equal counts; three polynomials."""
        rules.paired(x.meta, y.meta)
        return CipherTensor(rules.multiply(x.meta, y.meta), self._multiply(x, y))

    def inner(self, x: CipherTensor[P], y: CipherTensor[P], *, bound: float) -> CipherTensor[P]:
        """sum_c x_c y_c as one ciphertext of three polynomials; |sum| <= bound."""
        rules.paired(x.meta, y.meta)
        meta = rules.total(rules.multiply(x.meta, y.meta), bound=bound)
        return CipherTensor(meta, self._inner(x, y))

    def outer(self, x: CipherTensor[P], y: CipherTensor[P]) -> CipherTensor[P]:
        """All products x_i y_c, row-major in (i, c); three polynomials."""
        product = rules.multiply(x.meta, y.meta)
        meta = rules.with_count(product, x.meta.count * y.meta.count)
        return CipherTensor(meta, self._outer(x, y))

    def relinearize(self, x: CipherTensor[P], limbs: int | None = None) -> CipherTensor[P]:
        """Three polynomials -> two, with the peer's key; `limbs` as of `square_sums`."""
        lower = x.meta if limbs is None else rules.rescale(x.meta, limbs)
        meta = rules.relinearize(lower)
        return CipherTensor(meta, self._rescaled_relinearize(x, lower))

    def rescale(self, x: CipherTensor[P], limbs: int, *, slots: bool = True) -> CipherTensor[P]:
        """Divide by the last primes until `limbs` are left; `slots`: see `rules.rescale`."""
        if limbs == x.meta.limbs:
            return x
        meta = rules.rescale(x.meta, limbs, slots=slots)
        return CipherTensor(meta, self._rescale(x, limbs))

    def sanitize(self, x: CipherTensor[P], flooding_bits: int) -> CipherTensor[P]:
        """Re-randomise and flood a tensor so that it tells only its plaintext.

        Adds fresh public-key encryptions of zero under every mask polynomial and uniform noise
        in [-F, F) to every coefficient, F at least 2^flooding_bits times the planned bound on
        all other noise: the answer is within statistical distance 2^-flooding_bits a
        coefficient of one that depends on the values alone (protocol.md section 5). Three
        polynomials are masked without a key switch: an encryption (b u + e0, a u + e1) of zero,
        shifted to the second and third place, still decrypts to a small value (times s).

        The masks hide what they cover from the holder of the secret key as RLWE samples a u + e
        for a random a. So a must not be the student's choice: backends expand it from a seed.
        """
        meta = rules.sanitize(x.meta, flooding_bits)
        return CipherTensor(meta, self._sanitize(x, int(math.log2(meta.flood))))

    def extract(self, x: CipherTensor[P], coefficients: NDArray[np.int64] | None) -> Released:
        """Bytes of an answer: everything, or only these message coefficients.

        The other coefficients of the first polynomial are not sent at all. Only the masks could
        tell of them, and those of a sanitised tensor look uniform as long as RLWE does.
        """
        return Released(x.meta, coefficients, self._extract(x, coefficients))

    def prepare(self, limbs: int, count: int, *, most: int | None = None) -> int:
        """Have what sanitising adds ready, `most` of it made now -> how many were made."""
        del limbs, count, most  # nothing is added
        return 0

    def meanwhile(self, limbs: int, count: int) -> AbstractContextManager[None]:
        """While a block computes what is sanitised in it, make `count` of what that will add."""
        del limbs, count  # made when they are taken
        return nullcontext()

    def open_keys(self) -> None:
        """Do now what the peer's keys need before they are used, where that was put off.

        Keys are checked when they arrive. What takes time and memory waits until one is used, so
        that what is refused on other grounds has cost neither.
        """

    @abstractmethod
    def load(self, data: bytes | memoryview, meta: CipherMeta) -> CipherTensor[P]:
        """A peer's upload, checked against the public facts that the plan states.

        It may be kept as it is and read later.

        Raises:
            EncryptionError: wrong length, or residues that are not below their primes.
        """

    def _linear_from(
        self,
        blocks: Sequence[CipherTensor[P]],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
        meta: CipherMeta,
    ) -> P:
        """Backends that need not copy override this."""
        return self._linear(self.gather(blocks, rows), spec, layer, meta)

    def _square_sums_from(
        self,
        blocks: Sequence[CipherTensor[P]],
        rows: NDArray[np.int64],
        spec: AffineSpec,
        layer: Layer | None,
        meta: CipherMeta,
        groups: NDArray[np.int64],
    ) -> P:
        """Backends that need not keep what is between override this."""
        values = CipherTensor(meta, self._linear_from(blocks, rows, spec, layer, meta))
        return self._square_sums(values, groups)

    def _rescaled_square_sums(
        self, x: CipherTensor[P], groups: NDArray[np.int64], meta: CipherMeta
    ) -> P:
        """`meta`: of x rescaled, or of x. Who need not keep what is between overrides this."""
        return self._square_sums(self.rescale(x, meta.limbs), groups)

    def _rescaled_relinearize(self, x: CipherTensor[P], meta: CipherMeta) -> P:
        """As `_rescaled_square_sums`."""
        return self._relinearize(self.rescale(x, meta.limbs))

    def _quadratic(
        self,
        x: CipherTensor[P],
        maps: Sequence[tuple[AffineSpec, AffineLayer]],
        metas: tuple[CipherMeta, CipherMeta, CipherMeta],
    ) -> P:
        """`metas`: of the inner map, its squares, the outer map. Backends may override this."""
        if x.meta.paired:
            value = self._real_part(self.paired_linear(x, *maps[0]))
        else:
            value = self._linear(x, *maps[0], metas[0])
        square = self._square(CipherTensor(metas[0], value))
        return self._linear(CipherTensor(metas[1], square), *maps[1], metas[2])

    @abstractmethod
    def _linear(
        self, x: CipherTensor[P], spec: AffineSpec, layer: Layer | None, meta: CipherMeta
    ) -> P: ...

    @abstractmethod
    def _paired_linear(
        self, x: CipherTensor[P], spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> P: ...

    @abstractmethod
    def _interleaved_linear(
        self, x: CipherTensor[P], spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> P: ...

    @abstractmethod
    def _real_part(self, x: CipherTensor[P]) -> P: ...

    @abstractmethod
    def _gather(self, blocks: Sequence[CipherTensor[P]], rows: NDArray[np.int64]) -> P: ...

    @abstractmethod
    def _combine(self, x: CipherTensor[P], y: CipherTensor[P], sign: int) -> P: ...

    @abstractmethod
    def _square(self, x: CipherTensor[P]) -> P: ...

    @abstractmethod
    def _square_sums(self, x: CipherTensor[P], groups: NDArray[np.int64]) -> P: ...

    @abstractmethod
    def _multiply(self, x: CipherTensor[P], y: CipherTensor[P]) -> P: ...

    @abstractmethod
    def _inner(self, x: CipherTensor[P], y: CipherTensor[P]) -> P: ...

    @abstractmethod
    def _outer(self, x: CipherTensor[P], y: CipherTensor[P]) -> P: ...

    @abstractmethod
    def _relinearize(self, x: CipherTensor[P]) -> P: ...

    @abstractmethod
    def _rescale(self, x: CipherTensor[P], limbs: int) -> P: ...

    @abstractmethod
    def _sanitize(self, x: CipherTensor[P], log2_amplitude: int) -> P: ...

    @abstractmethod
    def _extract(self, x: CipherTensor[P], coefficients: NDArray[np.int64] | None) -> bytes: ...
