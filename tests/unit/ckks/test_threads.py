"""One setting for all pools of threads."""

import os

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from securefair.ckks.backends import kernels
from securefair.ckks.threads import ENVIRONMENT, cores, one_for_blas, set_threads, threads_set
from securefair.errors import ConfigError
from support.threads import of_blas

pytestmark = pytest.mark.usefixtures("threads_restored")


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


@pytest.mark.usefixtures("nobody_says")
def test_blas_alone_gets_one_thread_for_a_while():
    with one_for_blas():
        assert of_blas() == {1}
        assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
        assert torch.get_num_threads() == kernels.describe().threads == 2
    assert of_blas() == {2}
    assert not set(ENVIRONMENT) & set(os.environ)


@pytest.mark.usefixtures("nobody_says")
@pytest.mark.parametrize("said", ENVIRONMENT)
def test_who_says_how_many_threads_has_them(monkeypatch, said):
    monkeypatch.setenv(said, "2")
    with one_for_blas():
        assert of_blas() == {2}
