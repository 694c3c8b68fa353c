import numpy as np
import pytest

from securefair.ckks.patches import Patch, PatchLayer
from securefair.errors import ModelError

WEIGHTS = np.array([[1, -2, 3], [0, 4, -7]])
READS = np.array([[0, 1, 2], [2, 3, 4]])
WRITES = np.array([[3, 1], [0, 2]])


def layer(**changes):
    patch = {"weights": WEIGHTS, "reads": READS, "writes": WRITES, **changes}
    return PatchLayer(5, (Patch(**patch),), np.arange(4.0))


def test_a_layer_is_the_matrix_that_its_places_fill():
    matrix = np.zeros((4, 5), dtype=int)
    matrix[3, :3], matrix[1, :3] = WEIGHTS
    matrix[0, 2:], matrix[2, 2:] = WEIGHTS
    assert (layer().dense() == matrix).all()
    values = np.random.default_rng(0).normal(size=(5, 7))
    expected = matrix @ values / 8 + np.arange(4.0)[:, None]
    np.testing.assert_allclose(layer().apply(values, 3), expected)


def test_norms_and_sizes_are_those_of_the_matrix():
    found = layer()
    rows = np.abs(found.dense())
    assert found.shape == (4, 5)
    assert found.largest == 7
    assert found.row_norms == (rows.sum(axis=1).max(), np.sqrt((rows**2).sum(axis=1).max()))
    assert found.multiply_adds == 12


def test_one_input_may_be_read_twice():
    assert layer(reads=np.array([[0, 0, 2], [2, 3, 4]])).dense()[3, 0] == -1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"reads": READS[:, :2]}, "do not fit"),
        ({"writes": WRITES[:1]}, "do not fit"),
        ({"reads": READS + 1}, "nowhere"),
        ({"writes": WRITES - 1}, "nowhere"),
        ({"writes": WRITES * 0}, "one place"),
    ],
)
def test_places_that_do_not_fit_are_refused(change, problem):
    with pytest.raises(ModelError, match=problem):
        layer(**change)


def test_weights_never_print():
    assert "-7" not in repr(layer())
    assert "-7" not in repr(layer().patches)
