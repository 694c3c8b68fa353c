"""One setting for all pools of threads."""

import os

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from securefair.ckks.backends import kernels
from securefair.errors import ConfigError
from securefair.threads import ENVIRONMENT, cores, set_threads


@pytest.fixture(autouse=True)
def threads_restored():
    before = min(torch.get_num_threads(), kernels.describe().threads)
    environment = {name: os.environ.get(name) for name in ENVIRONMENT}
    yield
    set_threads(before)
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name)
        else:
            os.environ[name] = value


@pytest.mark.parametrize("count", sorted({1, cores()}))
def test_every_pool_obeys(count):
    assert np.ones((2, 2)) @ np.ones(2) is not None  # BLAS is loaded
    set_threads(count)
    assert torch.get_num_threads() == count
    assert kernels.describe().threads == count
    pools = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    assert pools
    assert set(pools.values()) == {count}
    assert {os.environ[name] for name in ENVIRONMENT} == {str(count)}


@pytest.mark.parametrize("count", [0, -1, cores() + 1])
def test_what_the_machine_cannot_run_is_refused(count):
    before = kernels.describe().threads
    with pytest.raises(ConfigError, match="threads"):
        set_threads(count)
    assert kernels.describe().threads == before
