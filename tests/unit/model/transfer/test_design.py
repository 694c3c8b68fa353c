import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.dataset import Samples
from securefair.model.transfer.design import own_design, tree_design
from securefair.model.transfer.public_trees import public_trees


def samples(seed, count, features, classes=2):
    rng = np.random.default_rng(seed)
    return Samples(rng.uniform(-1, 1, (count, features)), rng.integers(0, classes, count), classes)


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 8),
    features=st.integers(1, 12),
    degree=st.sampled_from([1, 2]),
    classes=st.sampled_from([2, 3]),
)
def test_the_polynomial_says_what_the_design_says(seed, count, features, degree, classes):
    own = samples(seed, count, features, classes)
    design = own_design(own, degree)
    columns = design.columns()
    theta = np.random.default_rng(seed).normal(size=columns.parameters)
    f = design.function(theta)
    np.testing.assert_allclose(f.logits(own.features), columns.logits(theta[None])[0], atol=1e-9)
    assert f.degree == degree
    assert design.slopes <= count or design.slopes == design.rotation.shape[0]


def test_quadratic_coordinates_multiply_like_the_kernel():
    own = samples(1, 6, 9)
    x = own.features
    m = (x**2).sum(axis=1).mean()
    gram = x @ x.T
    coordinates = own_design(own, 2).coordinates
    np.testing.assert_allclose(coordinates @ coordinates.T, gram + 0.1 * gram**2 / m, atol=1e-12)


def test_slopes_and_intercepts_have_penalties_of_their_own():
    design = own_design(samples(0, 9, 2, classes=3), 1)
    assert design.penalties(7.0).tolist() == [7.0, 7.0, 0.05] * 3


def test_features_without_any_variation():
    own = Samples(np.zeros((4, 3)), np.array([0, 1, 0, 1]), 2)
    f = own_design(own, 2).function(np.ones(5))
    assert np.isfinite(f.logits(np.ones((1, 3)))).all()
    assert f.logits(np.zeros((1, 3)))[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(("count", "classes"), [(6, 3), (600, 2)])
def test_fits_of_leaves_say_what_their_design_says(beside, count, classes):
    own = samples(3, count, 4, classes)
    design = tree_design(own, beside=beside)
    columns = design.columns()
    theta = np.random.default_rng(0).normal(size=columns.parameters)
    f = design.function(theta)
    np.testing.assert_allclose(f.logits(own.features), columns.logits(theta[None])[0], atol=1e-9)
    assert design.family == ("both" if beside else "trees")
    assert f.polynomial.linear.any() == beside
    on_mapped = f.on_mapped().logits(public_trees(4).mapped(own.features))
    np.testing.assert_allclose(on_mapped, f.logits(own.features), atol=1e-9)
