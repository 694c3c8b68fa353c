"""One setting for all pools of threads."""

import os

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from securefair.ckks.backends import kernels
from securefair.ckks.threads import ENVIRONMENT, cores, one_for_blas, set_threads, threads_set
from securefair.errors import ConfigError


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


def pools():
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}


def test_a_callers_own_setting_comes_back(monkeypatch):
    assert np.ones((2, 2)) @ np.ones(2) is not None
    monkeypatch.setenv(ENVIRONMENT[0], "3")
    monkeypatch.delenv(ENVIRONMENT[1], raising=False)
    set_to = cores()
    kernels.set_threads(set_to)
    before = pools()

    def interrupted():
        with threads_set(1):
            assert torch.get_num_threads() == kernels.describe().threads == 1
            assert set(pools().values()) == {1}
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert torch.get_num_threads() == kernels.describe().threads == set_to
    assert pools() == before
    assert os.environ[ENVIRONMENT[0]] == "3"
    assert ENVIRONMENT[1] not in os.environ


def test_what_is_refused_for_a_while_changes_nothing():
    before = pools(), {name: os.environ.get(name) for name in ENVIRONMENT}
    with pytest.raises(ConfigError, match="threads"), threads_set(0):
        pass
    assert (pools(), {name: os.environ.get(name) for name in ENVIRONMENT}) == before


@pytest.mark.skipif(cores() < 2, reason="one core has one thread whatever is asked")
@pytest.mark.parametrize(("said", "blas"), [(None, 1), (ENVIRONMENT[0], 2), (ENVIRONMENT[1], 2)])
def test_blas_alone_gets_one_thread_unless_somebody_says_how_many(monkeypatch, said, blas):
    set_threads(2)
    for name in ENVIRONMENT:
        monkeypatch.delenv(name)
    if said:
        monkeypatch.setenv(said, "2")
    one_for_blas()
    found = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    assert found == {blas}
    assert torch.get_num_threads() == kernels.describe().threads == 2
