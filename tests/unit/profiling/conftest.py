"""Small exchanges, and threads as they were."""

import pytest
import torch

from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import kernels
from securefair.ckks.threads import set_threads
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


@pytest.fixture
def threads_restored():
    before = min(torch.get_num_threads(), kernels.describe().threads)
    yield
    set_threads(before)
