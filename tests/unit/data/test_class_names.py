import numpy as np
import pytest

from securefair.data.class_names import named_classes
from securefair.errors import DataError


def test_two_numberings_of_two_classes_are_refused():
    with pytest.raises(DataError, match="some number the classes 0 and 1, others 1 and 2"):
        named_classes([np.array([0, 1, 1]), np.array([1, 2, 2])])


@pytest.mark.parametrize(
    "labels", [([0, 1], [0, 1]), ([1, 2], [1, 2]), ([0, 1, 2], [1, 2]), ([0, 1], [0, 2])]
)
def test_other_labels_are_not(labels):
    named_classes([np.array(one) for one in labels])


def test_a_model_of_three_classes_settles_it():
    assert named_classes([np.array([0, 1]), np.array([1, 2])], at_least=3) is None
