"""Hospitals that a call takes, small enough that a run takes a fraction of a second."""

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset


@pytest.fixture
def make_arrays():
    """Features (B, 4) in [-1, 1] and labels that depend on the first of them."""

    def make(samples, seed=0):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (samples, 4)).astype(np.float32)
        return x, (x[:, 0] + 0.3 * x[:, 1] > 0).astype(np.int64)

    return make


@pytest.fixture
def hospitals(make_arrays):
    """Torch data sets for training and testing, by name; the first has little to learn from."""
    test = make_arrays(80, seed=9)
    return {
        name: tuple(
            TensorDataset(torch.tensor(x), torch.tensor(y))
            for x, y in (make_arrays(samples, seed=samples), test)
        )
        for name, samples in (("North", 12), ("South", 60), ("East", 50))
    }
