"""X -> X^t: products that stay apart, and the same image in coefficients and in SEAL's order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis
from securefair.ckks.encoding import negacyclic_product
from securefair.ckks.primes import ntt_primes
from securefair.ckks.security import MAX_LOG_QP
from securefair.ckks.turning import (
    masked_places,
    turn,
    turned_coefficients,
    turned_places,
    width,
)


@pytest.mark.parametrize("n", sorted(MAX_LOG_QP))
def test_every_product_of_two_pieces_has_a_place_of_its_own(n):
    each, t = width(n), turn(n)
    places = np.arange(each)[:, None] + t * np.arange(each)
    assert t % 2 == 1
    assert len(np.unique(places)) == each**2
    assert places.max() < n
    assert each >= 0.97 * np.sqrt(n)


@pytest.mark.parametrize("n", [4096, 8192])
def test_the_image_is_the_same_in_coefficients_and_in_the_transformed_order(n):
    basis = Basis(n, ntt_primes(n, 30, 2))
    primes = np.array(basis.primes, dtype=np.int64)[:, None]
    drawn = np.random.default_rng(n).integers(-(1 << 20), 1 << 20, n)

    def transformed(integers):
        residues = (integers.astype(np.int64) % primes).astype(np.int32)
        kernels.ntt_forward_(residues, basis)
        return residues

    turned = transformed(turned_coefficients(drawn.astype(np.float64)))
    assert np.array_equal(turned, transformed(drawn)[..., turned_places(n)])
    back = turned[..., turned_places(n, back=True)]
    assert np.array_equal(back, transformed(drawn))


@given(seed=st.integers(0, 99), i=st.integers(0, 62), j=st.integers(0, 62))
def test_a_product_with_a_turned_piece_holds_every_product_of_two_values(seed, i, j):
    n = 4096
    x, y = np.zeros((2, 1, n))
    x[0, : width(n)], y[0, : width(n)] = np.random.default_rng(seed).normal(size=(2, width(n)))
    product = negacyclic_product(x, turned_coefficients(y))[0]
    assert product[i + turn(n) * j] == pytest.approx(x[0, i] * y[0, j], abs=1e-9)


@pytest.mark.parametrize("polys", [2, 3, 4])
def test_every_polynomial_but_the_first_gets_a_mask_of_its_own(polys):
    """The second polynomial of an encryption of zero is its mask."""
    places = masked_places(polys)
    masked = [list(range(polys))[place.polys][1] for place in places]
    assert sorted(masked) == list(range(1, polys))
    # 1 and s', of four, belong to the turned key.
    assert [list(range(4))[p.polys] for p in places if p.turned] == ([[0, 2]] * (polys == 4))
