import numpy as np
import pytest

from securefair.data import Samples
from securefair.data.known import few_events_of
from securefair.prediction.transfer_estimator import estimates_of_fit


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


def test_few_events_have_no_estimates():
    values = np.column_stack([np.arange(1.0, 21), np.arange(20) < 2])
    samples = Samples(np.zeros((20, 1)), np.zeros(20, np.int64), 2, outcome="time", values=values)
    with pytest.raises(AttributeError, match="2 events"):
        estimates_of_fit(samples, [], draws=10, seed=0, half=1.0)
