"""Hospitals small enough that encrypted runs take seconds."""

import numpy as np
import pytest

from securefair.data import load_heart
from securefair.data.dataset import ParticipantData


@pytest.fixture(scope="session")
def hospitals():
    """The first `count` hospitals of the heart data with their first `most` training patients."""

    def make(count=4, most=60):
        return [
            ParticipantData(
                own.name, own.train.take(np.arange(min(most, len(own.train)))), own.test
            )
            for own in load_heart(seed=0)[:count]
        ]

    return make
