import numpy as np
import pytest

from securefair.errors import ModelError
from securefair.model.stored import from_bytes, inputs_of, logits_of, to_bytes
from securefair.model.transfer.leafed import Leafed, of_mapped, weighted_sum
from securefair.model.transfer.polynomial import Polynomial
from securefair.model.transfer.public_trees import PublicTrees, public_trees

X = np.random.default_rng(1).uniform(-1, 1, (12, 4))


def leafed(seed, logits=1, quadratic=False):
    rng = np.random.default_rng(seed)
    square = rng.normal(size=(logits, 4, 4)) if quadratic else None
    square = None if square is None else square + np.swapaxes(square, 1, 2)
    polynomial = Polynomial(rng.normal(size=logits), rng.normal(size=(logits, 4)), square)
    return Leafed(polynomial, public_trees(4), rng.normal(size=(logits, 512)))


@pytest.mark.parametrize("logits", [1, 3])
def test_sums_with_and_without_leaves_and_squares(logits):
    f, g = leafed(0, logits), leafed(1, logits)
    h = leafed(2, logits, quadratic=True).polynomial
    total = weighted_sum([0.5, -2.0, 3.0], [f, h, g])
    expected = 0.5 * f.logits(X) - 2 * h.logits(X) + 3 * g.logits(X)
    np.testing.assert_allclose(total.logits(X), expected)
    np.testing.assert_allclose(total.predict_proba(X).sum(axis=1), 1)
    assert total.classes == max(2, logits)


def test_it_is_linear_in_what_the_trees_map_to():
    f = leafed(0, 3)
    again = of_mapped(f.on_mapped(), f.trees)
    np.testing.assert_array_equal(again.logits(X), f.logits(X))
    with pytest.raises(ModelError, match="do not go together"):
        leafed(0, quadratic=True).on_mapped()


@pytest.mark.parametrize("quadratic", [False, True])
def test_it_is_stored_with_its_trees(quadratic):
    f = leafed(0, 3, quadratic)
    again = from_bytes(to_bytes(f), where="here")
    np.testing.assert_array_equal(logits_of(again, X), f.logits(X))
    assert inputs_of(again) == 4
    assert logits_of(again, X[:0]).shape == (0, 3)


def test_what_does_not_fit_is_refused():
    f = leafed(0)
    with pytest.raises(ModelError, match="leaves do not fit"):
        Leafed(f.polynomial, f.trees, f.leaves[:, :-1])
    with pytest.raises(ModelError, match="leaves do not fit"):
        Leafed(f.polynomial, f.trees, f.leaves * np.nan)
    other = PublicTrees(f.trees.columns, f.trees.thresholds / 2)
    with pytest.raises(ModelError, match="different trees"):
        weighted_sum([1.0, 1.0], [f, Leafed(f.polynomial, other, f.leaves)])


def test_it_prints_no_coefficient():
    assert repr(leafed(0)) == "Leafed(4 + 512 leaves, redacted)"
