import numpy as np
import pytest

from securefair.data.known import few_events_of


@pytest.mark.parametrize(
    ("outcome", "numbers", "found"),
    [
        ("time", [[3.0, 1.0], [2.0, 1.0], [1.0, 0.0]], 2),
        ("time", [[float(one), 1.0] for one in range(1, 6)], None),
        ("count", [[1.0, 1.0], [0.0, 1.0]], 1),
        ("count", [[5.0, 1.0], [0.0, 1.0]], None),
        ("number", [[0.1, 1.0], [0.2, 1.0]], None),
    ],
)
def test_few_events_are_counted(outcome, numbers, found):
    assert few_events_of(np.array(numbers), np.arange(len(numbers)), outcome) == found


def test_events_of_one_patient_are_one():
    numbers = np.tile([3.0, 1.0], (6, 1))
    assert few_events_of(numbers, np.repeat([0, 1], 3), "time") == 2


def test_classes_have_no_events():
    assert few_events_of(None, np.arange(3), "") is None
