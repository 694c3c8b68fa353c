import tracemalloc

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from securefair.model.transfer.folds import stratified_folds
from securefair.model.transfer.surrogate import LEAST_R2, explained, is_function, surrogate
from support.dealt import dealt


def patients(count, features=6, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, features))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("count", [5, 20, 28, 29, 300])
def test_the_polynomial_is_the_kernel_ridge(degree, width, count):
    x, later = patients(count), patients(9, seed=1)
    z = np.random.default_rng(2).normal(3, 2, (count, width))
    m = (x**2).sum(axis=1).mean()
    ridge = KernelRidge(alpha=1e-3, kernel="polynomial", degree=degree, gamma=1 / m, coef0=1)
    ridge.fit(x, z - z.mean(axis=0))
    expected = z.mean(axis=0) + ridge.predict(later).reshape(9, width)
    np.testing.assert_allclose(surrogate(x, z, degree).logits(later), expected, atol=1e-9)


def test_no_matrix_is_as_large_as_all_patients():
    x = patients(30_000)  # a kernel over them would hold 7 GB
    tracemalloc.start()
    g = surrogate(x, x[:, :1] ** 2, 2)
    assert tracemalloc.get_traced_memory()[1] < 20 * x.nbytes
    tracemalloc.stop()
    np.testing.assert_allclose(g.logits(x[:9]), x[:9, :1] ** 2, atol=1e-6)


@pytest.mark.parametrize("degree", [1, 2])
def test_tells_a_smooth_teacher_from_a_random_one(degree):
    x = patients(40)
    folds = stratified_folds(dealt(np.arange(40) % 2), np.random.default_rng(0))
    smooth = x @ np.random.default_rng(1).normal(size=(6, 1)) + 2
    assert explained(x, smooth, degree, folds) > 0.99
    rng = np.random.default_rng(2)
    for _ in range(20):
        assert explained(x, rng.permutation(smooth), degree, folds) <= LEAST_R2


def test_equal_logits_are_a_function_and_one_patient_is_none():
    x = patients(10)
    folds = np.arange(10) % 5
    assert explained(x, np.full((10, 1), 3.3), 1, folds) == 1.0
    assert explained(x[:1], np.array([[2.0]]), 1, folds[:1]) == 1.0


def test_constant_features():
    g = surrogate(np.zeros((4, 2)), np.array([[1.0], [2.0], [3.0], [4.0]]), 2)
    assert g.logits(np.zeros((1, 2)))[0, 0] == pytest.approx(2.5)


def judged(patients, width, degree, draw):
    """Whether an honest teacher's answer passes, and a random one."""
    x = draw.uniform(-1, 1, (patients, width))
    honest = x @ draw.normal(size=(width, 1)) + draw.normal()
    if degree == 2:
        units = draw.normal(size=(width, 16)) / np.sqrt(width)
        honest += 0.3 * (x @ units) ** 2 @ draw.normal(size=(16, 1))
    folds = stratified_folds(dealt(draw.integers(0, 2, patients)), draw)
    for logits in (honest, draw.normal(size=(patients, 1))):
        yield is_function(x, explained(x, logits, degree, folds))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("width", [11, 32])
@pytest.mark.parametrize("patients", [8, 12, 20, 32, 60])
def test_honest_teachers_pass_at_every_size_and_random_ones_do_not(patients, width, degree):
    """At 8 patients 45 % and more of honest ones were left out before."""
    draw = np.random.default_rng(patients)
    passed = np.array([list(judged(patients, width, degree, draw)) for _ in range(40)])
    honest, random = passed.mean(axis=0)
    assert honest == 1
    assert random <= 0.05 or patients < 30
