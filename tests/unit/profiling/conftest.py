"""Small exchanges."""

import pytest

from securefair.circuit.spec import ExchangeSpec
from securefair.profiling.measure import MachineLimits


@pytest.fixture
def limits():
    return MachineLimits(multiply_adds=1e9, bytes=1e10)


@pytest.fixture
def spec():
    def make(**changes):
        small = {"features": 6, "hidden": 3, "classes": 2, "samples": 40, "q": 8}
        return ExchangeSpec(**(small | changes))

    return make
