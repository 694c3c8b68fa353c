"""The part of an evaluator that multiplies ciphertexts with private polynomials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.ckks import plain_rules
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.polynomials import check_factors, check_polynomials
from securefair.ckks.specs import FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherTensor

P = TypeVar("P")


class PlainProducts(ABC, Generic[P]):
    """Products with private polynomials, of values that are packed as coefficients."""

    params: CkksParameters

    def inner_plain(
        self, x: CipherTensor[P], spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> CipherTensor[P]:
        """sum_i x_i(X) p_i(X): values packed in coefficients times private polynomials.

        With `encoding.reversed_integers` the constant coefficient is an inner product. All other
        coefficients mix both sides too, and must not leave.

        Args:
            x: fresh ciphertexts (d) packed in coefficients.
            spec: public facts of the polynomials.
            polynomials: integers (d, N); None only where nothing is computed (planning).

        Raises:
            ModelError: the polynomials exceed what the public spec bounds.
        """
        if polynomials is not None:
            check_polynomials(spec, polynomials, self.params.ring_degree)
        meta = plain_rules.inner_plain(x.meta, spec)
        return CipherTensor(meta, self._inner_plain(x, spec, polynomials))

    def outer_plain(
        self, x: CipherTensor[P], spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> CipherTensor[P]:
        """x(X) p_c(X) for one ciphertext x and each of d private polynomials.

        A number w, as the same value in every slot or as the constant coefficient, gives w times
        every coefficient of p_c: N values a ciphertext.

        Args:
            x: one fresh ciphertext.
            spec: public facts of the polynomials.
            polynomials: integers (d, N); None only where nothing is computed (planning).

        Returns:
            d ciphertexts packed in coefficients.

        Raises:
            ModelError: the polynomials exceed what the public spec bounds.
        """
        if polynomials is not None:
            check_factors(spec, polynomials, self.params.ring_degree)
        meta = plain_rules.outer_plain(x.meta, spec)
        return CipherTensor(meta, self._outer_plain(x, spec, polynomials))

    @abstractmethod
    def _inner_plain(
        self, x: CipherTensor[P], spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> P: ...

    @abstractmethod
    def _outer_plain(
        self, x: CipherTensor[P], spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> P: ...
