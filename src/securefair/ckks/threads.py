"""One setting for every pool of threads that computes: native kernels, torch and BLAS; and for BLAS
alone where processes share a machine.

Each library starts as many threads as there are cores. Used one inside or after the other they
compete for the same cores, and a product that should be twice as fast takes longer than on one.
So nothing in this package sets any of them but this module.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral

from threadpoolctl import threadpool_limits

from securefair.ckks.backends import kernels
from securefair.ckks.backends.kernel_choice import cores, loaded_torch
from securefair.errors import ConfigError

__all__ = ["ENVIRONMENT", "cores", "one_for_blas", "set_threads", "threads_set"]

ENVIRONMENT = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What libraries that are loaded later, and child processes, read."""


def set_threads(count: int) -> None:
    """Let native kernels, torch, numpy's and scipy's BLAS and OpenMP use `count` threads each.

    They take turns, so together they use `count` cores. Encryption starts as many child processes
    instead, and waits for them meanwhile.

    Raises:
        ConfigError: count is not within 1 and the number of cores.
    """
    if not isinstance(count, Integral):
        raise ConfigError(
            "a number of threads is a whole number",
            where="threads",
            found=count,
            expected=f"1 to {cores()}",
        )
    count = int(count)
    if not 1 <= count <= cores():
        raise ConfigError(
            "this machine cannot run so many threads at once",
            where="threads",
            found=count,
            expected=f"1 to {cores()}",
        )
    for name in ENVIRONMENT:
        os.environ[name] = str(count)
    threadpool_limits(limits=count)  # BLAS and OpenMP, of everything that is loaded by now
    kernels.set_threads(count)  # native kernels, and torch's own pool if it is loaded


@contextmanager
def one_for_blas() -> Iterator[None]:
    """One thread of BLAS for a while, unless the environment says how many.

    For processes that share a machine with others, as sites do: a fit solves many small systems. A
    second thread gains nothing there on a free core, and where another process computes on that
    core each thread waits for the other. Kernels and torch are left alone: networks gain by them.
    """
    if any(name in os.environ for name in ENVIRONMENT):
        yield
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # scipy brings its own, which may be loaded later
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        os.environ.pop("OPENBLAS_NUM_THREADS", None)


@contextmanager
def threads_set(count: int) -> Iterator[None]:
    """`set_threads` for a while; afterwards everything is as a caller's program had it.

    Raises:
        ConfigError: see `set_threads`.
    """
    environment = {name: os.environ.get(name) for name in ENVIRONMENT}
    natives, torch = kernels.describe().threads, loaded_torch()
    torchs = natives if torch is None else torch.get_num_threads()
    pools = threadpool_limits(limits=None)  # only remembers
    try:
        set_threads(count)
        yield
    finally:
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        kernels.set_threads(natives)
        torch = loaded_torch()  # by now, perhaps
        if torch is not None:
            torch.set_num_threads(torchs)
        pools.restore_original_limits()
