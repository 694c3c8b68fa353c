import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.errors import ConfigError
from securefair.model.projection import (
    SignedSeed,
    block_signs,
    public_indices,
    public_rows,
    sample_at,
    student_basis,
)

VECTOR_INDICES = [0, 245, 1420, 2204, 2275, 2799, 3240, 3609]
VECTOR_SIGNS = [1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -1.0]

degrees = st.integers(2, 6).map(lambda k: 2**k)


def message_polynomial(slots):
    """The real polynomial of degree < N whose canonical embedding has these real slots.

    From the definition alone: solve m(zeta^(3^s)) = z_s and its conjugate equations,
    zeta = exp(i pi / N), for the N coefficients.
    """
    n = 2 * len(slots)
    zeta = np.exp(1j * np.pi / n)
    points = np.array([zeta ** pow(3, s, 2 * n) for s in range(len(slots))])
    points = np.concatenate([points, points.conj()])
    vandermonde = points[:, None] ** np.arange(n)[None, :]
    coefficients = np.linalg.solve(vandermonde, np.concatenate([slots, slots]).astype(complex))
    assert np.abs(coefficients.imag).max() < 1e-9
    return coefficients.real


@given(degree=degrees, samples=st.integers(1, 80), seed=st.integers(0, 2**32))
def test_rows_are_the_coefficients_of_the_signed_sum_of_message_polynomials(degree, samples, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=samples)
    slots = degree // 2
    blocks = -(-samples // slots)
    signs = block_signs(blocks, SignedSeed(b"seed"))
    laid_out = z[sample_at(samples, blocks * slots)].reshape(blocks, slots)
    polynomial = message_polynomial(signs @ laid_out)
    rows = public_rows(degree, np.arange(degree), samples, signs)
    np.testing.assert_allclose(rows @ z, polynomial, atol=1e-10)


@pytest.mark.parametrize("samples", [2, 16, 20, 32, 64, 128, 200, 256, 1000, 1024])
def test_no_number_of_samples_makes_rows_repeat_each_other(samples):
    """An even period shares factors with those of the weights: 16 samples had one row, not 16."""
    rows = public_rows(8192, public_indices(8192, 64, b"x"), samples, np.ones(1))
    assert np.linalg.matrix_rank(rows, tol=1e-6) == min(64, samples)


@given(samples=st.integers(1, 300), positions=st.integers(1, 600))
def test_every_sample_has_a_position_and_the_first_ones_are_in_order(samples, positions):
    held = sample_at(samples, positions)
    first = np.arange(min(samples, positions))
    np.testing.assert_array_equal(held[: len(first)], first)
    assert set(held.tolist()) == set(first.tolist())


def test_the_upper_coefficients_repeat_the_lower_ones():
    rows = public_rows(64, np.arange(64), 20, np.ones(1))
    np.testing.assert_allclose(rows[32], 0, atol=1e-15)
    np.testing.assert_allclose(rows[33:], -rows[31:0:-1], atol=1e-15)
    assert np.linalg.matrix_rank(rows) == 20


def test_coefficient_zero_is_the_mean_over_all_slots():
    rows = public_rows(16, np.array([0]), 3, np.ones(1))  # 8 slots: 3, 3 and 2 repeats
    np.testing.assert_allclose(rows, [[3 / 8, 3 / 8, 2 / 8]])


@given(degree=degrees, data=st.data(), seed=st.binary(max_size=40))
def test_indices_are_distinct_ascending_and_start_with_the_mean(degree, data, seed):
    q = data.draw(st.integers(1, degree // 2))
    indices = public_indices(degree, q, seed)
    assert indices.dtype == np.int64
    assert indices[0] == 0
    assert len(indices) == q
    assert (np.diff(indices) > 0).all()
    assert indices[-1] < degree // 2


def test_the_public_basis_never_changes():
    # A change here would make participants of different versions disagree.
    assert public_indices(8192, 8, b"a public seed").tolist() == VECTOR_INDICES
    assert block_signs(12, SignedSeed(b"a public seed")).tolist() == VECTOR_SIGNS


@given(data=st.data(), blocks=st.integers(1, 8), q=st.integers(1, 8), seed=st.binary(max_size=40))
def test_every_public_basis_tells_the_mean_of_the_logits(data, blocks, q, seed):
    """Signs of 2, 4 or 6 blocks could sum to 0: then the constant direction was lost."""
    slots = 32
    samples = data.draw(st.integers(max(1, (blocks - 1) * slots + (blocks > 1)), blocks * slots))
    indices = public_indices(2 * slots, q, seed)
    rows = public_rows(2 * slots, indices, samples, block_signs(blocks, seed))
    within = np.linalg.lstsq(rows.T, np.ones(samples), rcond=None)[0] @ rows
    assert within @ within >= 0.85 * samples * (1 - 1e-9)


def test_blocks_under_signs_lose_the_mean():
    """What the property above refuses, as protocol 12 has it."""
    rows = public_rows(64, np.array([0]), 64, block_signs(2, SignedSeed(b"")))
    np.testing.assert_allclose(rows @ np.ones(64), 0, atol=0.05)


def test_the_first_block_is_always_added():
    signs = np.stack([block_signs(9, SignedSeed(b"%d" % k)) for k in range(64)])
    assert (signs[:, 0] == 1).all()
    assert (np.abs(signs) == 1).all()
    assert (np.abs(signs[:, 1:].mean(axis=0)) < 0.5).all()


def test_other_seeds_give_other_indices_that_cover_the_range_evenly():
    drawn = np.concatenate([public_indices(256, 17, b"%d" % k)[1:] for k in range(200)])
    counts = np.bincount(drawn, minlength=128)[1:128]
    assert counts.sum() == 200 * 16
    expected = 200 * 16 / 127
    # Chi-square with 126 degrees of freedom: mean 126, standard deviation 16.
    assert abs(((counts - expected) ** 2 / expected).sum() - 126) < 5 * 16


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda: public_indices(100, 4, b""), "ring_degree"),
        (lambda: public_indices(2, 1, b""), "ring_degree"),
        (lambda: public_indices(16, 9, b""), "q"),
        (lambda: public_indices(16, 0, b""), "q"),
        (lambda: block_signs(0, b""), "blocks"),
        (lambda: public_rows(16, np.array([0]), 9, np.ones(1)), "signs"),
        (lambda: public_rows(16, np.array([16]), 8, np.ones(1)), "indices"),
        (lambda: public_rows(16, np.array([0]), 0, np.ones(0)), "samples"),
        (lambda: student_basis(Samples(np.eye(3), np.array([0, 1, 1]), 2), 1), "q"),
        (lambda: student_basis(Samples(np.eye(3), np.array([0, 1, 1]), 2), 4), "q"),
    ],
)
def test_impossible_bases_are_refused_by_name(call, where):
    with pytest.raises(ConfigError) as error:
        call()
    assert error.value.where == where


@given(
    samples=st.integers(3, 30),
    features=st.integers(1, 5),
    data=st.data(),
    seed=st.integers(0, 2**32),
)
def test_student_rows_are_orthonormal_and_contain_the_classes(samples, features, data, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, samples)
    subject = Samples(rng.normal(size=(samples, features)), labels, 3)
    q = data.draw(st.integers(len(np.unique(labels)), samples))
    basis = student_basis(subject, q)
    np.testing.assert_allclose(basis @ basis.T, np.eye(q), atol=1e-9)
    for present in np.unique(labels):
        indicator = (labels == present).astype(float)
        np.testing.assert_allclose(basis.T @ (basis @ indicator), indicator, atol=1e-9)
    assert (basis == student_basis(subject, q)).all()


def test_student_rows_follow_the_leading_directions_of_the_features():
    rng = np.random.default_rng(0)
    # Two directions carry nearly all variance; one class, so its row is the mean.
    features = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6))
    basis = student_basis(Samples(features, np.zeros(100, dtype=np.int64), 2), 3)
    centred = features - features.mean(axis=0)
    missed = centred - basis.T @ (basis @ centred)
    assert (missed**2).sum() < 0.05 * (centred**2).sum()
