"""Data sets of all participants go together."""

import numpy as np
import pytest

from securefair.data import Samples
from securefair.errors import DataError
from securefair.user.data_sets import alike, participant_of


def images(*shape):
    count = 12
    pixels = np.random.default_rng(0).uniform(-1, 1, (count, *shape))
    return pixels, np.arange(count) % 2


def everyone(**data):
    return [participant_of(name, one, test_fraction=0.25, seed=0) for name, one in data.items()]


def test_axes_in_another_order_are_refused():
    with pytest.raises(DataError, match="another shape than those of north") as refused:
        alike(everyone(north=images(3, 4, 4), south=images(4, 4, 3)))
    assert (refused.value.where, refused.value.found) == ("south", (4, 4, 3))
    assert refused.value.expected == (3, 4, 4)


def test_a_test_part_has_the_shape_of_the_training():
    pair = images(3, 4, 4), images(4, 4, 3)
    with pytest.raises(DataError, match="another shape"):
        alike(everyone(north=pair, south=images(3, 4, 4)))


def test_an_axis_of_one_makes_no_other_shape():
    found = alike(everyone(north=images(1, 8, 8), south=images(8, 8), west=images(8, 8, 1)))
    assert len(found) == 3


def test_samples_that_somebody_made_have_the_shape_of_their_features():
    features, labels = images(64)
    made = Samples(features, labels, 2)
    assert len(alike(everyone(north=made, south=images(64)))) == 2
    with pytest.raises(DataError, match="another shape"):
        alike(everyone(north=made, south=images(8, 8)))
