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


def test_numbers_with_a_gap_are_names_of_classes():
    found = named_classes([np.array([0, 5, 5]), np.array([5, 0])])
    assert found is not None
    numbers, names = found
    assert names == ("0", "5")
    assert [one.tolist() for one in numbers] == [[0, 1, 1], [1, 0]]
    # One data set of several: the others may have the numbers between.
    assert named_classes([np.array([0, 5, 5])], everyone=False) is None
    # A model of six classes tells that they are numbers; so does a class below 0, which is none.
    assert named_classes([np.array([0, 5])], at_least=6) is None
    assert named_classes([np.array([-1, 0, 1])]) is None


@pytest.mark.parametrize("other", ["ILL", "ill ", "Ill"])
def test_spellings_of_one_class_are_no_two_classes(other):
    labels = [np.array(["ill", "well"]), np.array([other, "well"])]
    with pytest.raises(DataError, match="labels: two names of classes differ in case"):
        named_classes(labels)
