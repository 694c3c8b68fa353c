import numpy as np
import pytest

from securefair.errors import ModelError
from securefair.model.transfer.public_trees import LEAVES, SCALE, PublicTrees, public_trees


def walked(trees, x):
    """Every tree by hand, from its first question to a leaf."""
    result = np.zeros(trees.leaves)
    for at, (columns, thresholds) in enumerate(zip(trees.columns, trees.thresholds, strict=True)):
        place = 0
        while place < 7:
            place = 2 * place + (2 if x[columns[place]] > thresholds[place] else 1)
        result[8 * at + place - 7] = SCALE
    return result


@pytest.mark.parametrize("features", [1, 3, 40])
def test_a_patient_has_one_leaf_of_every_tree(features):
    trees = public_trees(features)
    x = np.random.default_rng(0).uniform(-1, 1, (9, features))
    found = trees.found(x)
    assert found.shape == (9, LEAVES)
    np.testing.assert_array_equal(found, np.stack([walked(trees, one) for one in x]))
    np.testing.assert_array_equal(trees.mapped(x)[:, :features], x)
    np.testing.assert_array_equal(trees.mapped(x)[:, features:], found)


def test_they_are_the_same_for_everybody_and_exact_in_single_precision():
    public_trees.cache_clear()
    first = public_trees(4)
    public_trees.cache_clear()
    again = public_trees(4)
    assert first is not again
    assert first.asks_like(again)
    assert not first.asks_like(public_trees(5))
    assert first.columns[0].tolist() == [3, 1, 1, 3, 0, 1, 0]
    assert (np.abs(first.thresholds) < 1).all()
    np.testing.assert_array_equal(first.thresholds, first.thresholds.astype(np.float32))


def test_shapes_must_agree():
    with pytest.raises(ModelError, match="no public trees"):
        PublicTrees(np.zeros((2, 7), np.int64), np.zeros((2, 6)))
