"""Threads of this process: how many BLAS has, and fixtures that put all back."""

import os

import pytest
import torch
from threadpoolctl import threadpool_info

from securefair.ckks.backends import kernels
from securefair.ckks.threads import ENVIRONMENT, cores, set_threads


@pytest.fixture
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


def of_blas():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def nobody_says(threads_restored, monkeypatch):
    """How many threads there are; they are two."""
    if cores() < 2:
        pytest.skip("one core has one thread whatever is asked")
    set_threads(2)
    for name in ENVIRONMENT:
        monkeypatch.delenv(name)
