import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from securefair.collaboration.gossip.sketch import error_bound, hadamard, sketch, unit, unit_sketch
from securefair.errors import ConfigError, ModelError


def pair(dimension, cosine, shape, seed=0):
    """Two unit vectors of about this cosine, spread or concentrated."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, dimension))
    if shape == "spikes":  # nearly all mass on four numbers, in different blocks
        mask = np.full(dimension, 1e-3)
        mask[:: dimension // 4] = 1.0
        a, b = a * mask, b * mask
    elif shape == "power law":
        scale = 1 / np.arange(1, dimension + 1)
        a, b = a * scale, b * scale
    elif shape == "one place":  # all mass at one position of every block
        mask = np.zeros(dimension)
        mask[7::64] = 1.0
        a, b = a * mask, b * mask
    a, b = unit(a), unit(b)
    b = unit(b - (a @ b) * a)
    return a, cosine * a + math.sqrt(1 - cosine**2) * b


SHAPES = ["dense", "spikes", "power law", "one place"]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cosine", [0.0, 0.5, -0.9])
def test_errors_have_the_stated_deviation_and_no_heavier_tail(shape, cosine):
    size, trials = 64, 1500
    a, b = pair(1000, cosine, shape)
    errors = np.array(
        [
            unit_sketch(a, size, bytes([t % 256, t // 256]))
            @ unit_sketch(b, size, bytes([t % 256, t // 256]))
            - cosine
            for t in range(trials)
        ]
    )
    assert errors.std() <= 1.1 * (1 - cosine**2) / math.sqrt(size) + 1e-3
    assert abs(errors.mean()) <= 4 * errors.std() / math.sqrt(trials) + 1 / size
    for failure in (0.1, 0.01):
        exceeded = (np.abs(errors) > error_bound(1000, size, failure)).mean()
        assert exceeded <= failure + 3 * math.sqrt(failure / trials)


def test_inner_products_are_kept_on_average():
    a, b = pair(300, 0.3, "dense")
    products = [sketch(a, 64, bytes([t])) @ sketch(b, 64, bytes([t])) for t in range(250)]
    assert np.mean(products) == pytest.approx(0.3, abs=4 * math.sqrt(1.09 / 64 / 250))


@settings(deadline=None)
@given(arrays(np.float64, 40, elements=st.floats(-1e3, 1e3)))
def test_a_single_block_is_taken_as_it_is(vector):
    assert np.array_equal(sketch(vector, 64, b""), vector)


def test_vectors_of_cosine_one_stay_so():
    a = np.random.default_rng(1).normal(size=5000)
    assert unit_sketch(a, 64, b"x") @ unit_sketch(3 * a, 64, b"x") == pytest.approx(1, abs=1e-6)


def test_a_sketch_is_linear_and_belongs_to_its_seed():
    a, b = pair(1000, 0.2, "dense")
    assert sketch(2 * a + b, 64, b"x") == pytest.approx(
        2 * sketch(a, 64, b"x") + sketch(b, 64, b"x"), abs=1e-5
    )
    assert not np.allclose(sketch(a, 64, b"x"), sketch(a, 64, b"y"))


def test_signs_are_the_same_in_every_version():
    """The numbers that this projection gave when it was written."""
    vector = np.zeros(40)
    vector[[0, 17, 39]] = 4.0
    assert sketch(vector, 16, b"seed").tolist() == pytest.approx(SEEN)


SEEN = [3, -1, -1, 1, -1, 1, -3, -1, -1, -3, 1, 1, -1, -1, 1, -3]


def test_no_direction_stays_none():
    assert not unit_sketch(np.zeros(100), 16, b"").any()


def test_directions_of_tiny_and_huge_vectors():
    for scale in (1e-300, 1e300):
        assert unit(np.array([3.0, 4.0]) * scale) == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("size", [0, 8, 100, 1 << 17])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(ConfigError, match="power of two"):
        sketch(np.ones(5), size, b"")


@pytest.mark.parametrize("bad", [np.array([np.nan]), np.array([np.inf]), np.ones((2, 2))])
def test_only_finite_vectors_have_a_sketch(bad):
    with pytest.raises(ModelError, match="finite vector"):
        sketch(bad, 16, b"")


def test_the_error_bound_is_that_of_gaussians():
    assert error_bound(10, 16, 0.5) == 0.0
    assert error_bound(10**6, 8192, 1e-6) == pytest.approx(0.0595, abs=1e-4)
    with pytest.raises(ConfigError, match="failure"):
        error_bound(10**6, 8192, 0.0)


@pytest.mark.parametrize("log2_size", range(4, 17))
def test_factors_multiply_to_the_matrix_of_hadamard(log2_size):
    """Every size has other factors; two rows are enough to tell all of them."""
    size = 1 << log2_size
    places = np.random.default_rng(log2_size).integers(size, size=2)
    rows = np.zeros((2, size), dtype=np.float32)
    rows[[0, 1], places] = 1.0
    popcounts = np.array([[(int(p) & k).bit_count() for k in range(size)] for p in places])
    expected = np.where(popcounts % 2, -1.0, 1.0) / np.sqrt(size)
    np.testing.assert_allclose(hadamard(rows), expected, rtol=1e-5)
