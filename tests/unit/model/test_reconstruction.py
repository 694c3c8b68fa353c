from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.model import kernel as kernel_module
from securefair.model.heads import build_head
from securefair.model.kernel import SampleKernel
from securefair.model.projection import block_signs, public_indices, public_rows, student_basis
from securefair.model.reconstruction import Reconstructor


def problem(seed=0, samples=120, features=8, classes=3):
    """A student's samples, and the logits of a quadratic teacher on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(samples, features))
    teacher = build_head("quadratic", features, 16, classes, seed)
    return Samples(x, rng.integers(0, classes, samples), classes), teacher.logits(x)


def rows_for(samples, q, degree=1024):
    slots = degree // 2
    signs = block_signs(-(-len(samples) // slots), b"s")
    return public_rows(degree, public_indices(degree, q, b"s"), len(samples), signs)


def missed(logits, truth):
    """Share of the variance around the mean that a reconstruction misses."""
    return ((logits - truth) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()


def reconstruct(samples, rows, released, noise_std=0.0):
    """One answer's logits, and how sure the student can be of them."""
    made = Reconstructor(samples, rows, noise_std)
    return SimpleNamespace(logits=made.logits(released), unexplained=made.unexplained)


def test_more_numbers_determine_the_logits_better():
    shares, expected = [], []
    for q in (2, 8, 32, 64):
        pairs = []
        for seed in range(4):
            samples, truth = problem(seed)
            rows = rows_for(samples, q)
            result = reconstruct(samples, rows, rows @ truth)
            pairs.append((missed(result.logits, truth), result.unexplained))
        share, posterior = np.mean(pairs, axis=0)
        shares.append(share)
        expected.append(posterior)
    assert shares[0] > 0.5
    # A quadratic teacher of 8 features is one of 45 unknowns a class: 64 numbers say it all.
    assert shares[3] < 1e-6
    assert sorted(shares, reverse=True) == shares
    assert sorted(expected, reverse=True) == expected
    # The prior knows no teacher and yet foretells the order of magnitude.
    assert all(s / 3 < e < 3 * s for s, e in zip(shares[:3], expected[:3], strict=True))


@given(samples=st.integers(1, 32), seed=st.integers(0, 2**32))
def test_all_coefficients_determine_the_logits_exactly(samples, seed):
    rng = np.random.default_rng(seed)
    subject = Samples(rng.normal(size=(samples, 3)), rng.integers(0, 2, samples), 2)
    truth = rng.normal(size=(samples, 2))  # not at all what the prior expects
    for indices in (np.arange(64), public_indices(64, 32, b"")):
        rows = public_rows(64, indices, samples, np.ones(1))
        result = reconstruct(subject, rows, rows @ truth)
        np.testing.assert_allclose(result.logits, truth, atol=1e-5)
        assert result.unexplained < 1e-5


def test_the_released_numbers_themselves_are_reproduced():
    samples, truth = problem()
    rows = rows_for(samples, 16)
    result = reconstruct(samples, rows, rows @ truth)
    np.testing.assert_allclose(rows @ result.logits, rows @ truth, atol=1e-8)


def test_repeated_rows_add_nothing_and_break_nothing():
    samples, truth = problem()
    rows = rows_for(samples, 16)
    once = reconstruct(samples, rows, rows @ truth)
    doubled = np.concatenate([rows, -rows])
    twice = reconstruct(samples, doubled, doubled @ truth)
    np.testing.assert_allclose(twice.logits, once.logits, atol=1e-7)
    assert twice.unexplained == pytest.approx(once.unexplained, abs=1e-9)


def test_student_rows_determine_more_than_as_many_public_ones():
    shares = []
    for seed in range(4):
        samples, truth = problem(seed)
        pair = []
        for rows in (student_basis(samples, 16), rows_for(samples, 16)):
            pair.append(missed(reconstruct(samples, rows, rows @ truth).logits, truth))
        shares.append(pair)
    student, public = np.mean(shares, axis=0)
    assert student < 0.7 * public


def test_allowing_for_noise_beats_trusting_noisy_numbers():
    samples, truth = problem()
    rows = rows_for(samples, 100)
    noise = 3e-3 * np.random.default_rng(1).normal(size=(100, 3))
    released = rows @ truth + noise
    trusting = missed(reconstruct(samples, rows, released).logits, truth)
    careful = missed(reconstruct(samples, rows, released, noise_std=3e-3).logits, truth)
    assert careful < 0.7 * trusting


def test_rows_of_the_operator_bound_what_an_error_does():
    samples, truth = problem()
    rows = rows_for(samples, 32)
    subject = Reconstructor(samples, rows)
    rng = np.random.default_rng(0)
    changes = [
        np.abs(
            subject.logits(rows @ truth + rng.choice([-1e-3, 1e-3], (32, 3)))
            - subject.logits(rows @ truth)
        ).max()
        for _ in range(50)
    ]
    gains = np.abs(subject.operator).sum(axis=1)
    assert 0 < max(changes) <= 1e-3 * gains.max()
    worst = np.argmax(gains)
    error = 1e-3 * np.sign(subject.operator[worst])[:, None]
    assert (subject.operator @ error).max() == pytest.approx(1e-3 * gains.max())


def test_the_posterior_is_the_textbook_one():
    samples, _ = problem(samples=30)
    rows = rows_for(samples, 10)
    kernel = SampleKernel(samples).product(np.eye(30))
    noise = 1e-2
    gram = rows @ kernel @ rows.T + noise**2 * np.eye(10)
    operator = kernel @ rows.T @ np.linalg.inv(gram)
    posterior = kernel - operator @ rows @ kernel
    centring = np.eye(30) - 1 / 30
    subject = Reconstructor(samples, rows, noise)
    np.testing.assert_allclose(subject.operator, operator, rtol=1e-6, atol=1e-8)
    expected = np.trace(centring @ posterior) / np.trace(centring @ kernel)
    assert subject.unexplained == pytest.approx(expected, rel=1e-6)


def test_the_nystrom_kernel_is_close_to_the_exact_one(monkeypatch):
    samples, truth = problem(samples=300)
    rows = rows_for(samples, 32)
    exact = Reconstructor(samples, rows)
    monkeypatch.setattr(kernel_module, "EXACT_SAMPLES", 100)
    monkeypatch.setattr(kernel_module, "LANDMARKS", 90)
    approximate = Reconstructor(samples, rows)
    truth_missed = missed(exact.logits(rows @ truth), truth)
    assert truth_missed < 0.2
    assert missed(approximate.logits(rows @ truth), truth) == pytest.approx(truth_missed, abs=0.02)
    assert approximate.unexplained == pytest.approx(exact.unexplained, abs=0.02)


def test_samples_that_are_all_alike_are_no_obstacle():
    samples = Samples(np.ones((6, 2)), np.zeros(6, dtype=np.int64), 2)
    rows = public_rows(32, np.array([0]), 6, np.ones(1))
    result = reconstruct(samples, rows, rows @ np.full((6, 2), 3.0))
    np.testing.assert_allclose(result.logits, 3.0, atol=1e-4)


def test_moving_all_features_by_a_constant_changes_nothing():
    samples, _ = problem()
    rows = rows_for(samples, 16)
    moved = Samples(samples.features + 100.0, samples.labels, samples.classes)
    np.testing.assert_allclose(
        Reconstructor(moved, rows).operator, Reconstructor(samples, rows).operator, atol=1e-6
    )


@pytest.mark.parametrize(
    ("rows", "noise"),
    [
        (np.ones((2, 119)), 0.0),
        (np.zeros((2, 120)), 0.0),
        (np.ones(120), 0.0),
        (np.ones((1, 120)), -1),
    ],
)
def test_bases_that_do_not_fit_are_refused(rows, noise):
    samples, _ = problem()
    with pytest.raises(ModelError):
        Reconstructor(samples, rows, noise)


def test_released_numbers_that_do_not_fit_are_refused():
    samples, _ = problem()
    with pytest.raises(ModelError, match="released numbers"):
        Reconstructor(samples, rows_for(samples, 4)).logits(np.zeros((5, 3)))
