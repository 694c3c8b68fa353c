"""Time by stage, memory of this process, and what the machine could do at most."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from securefair.ckks.backends import kernels
from securefair.ckks.primes import MAX_LIMB_BITS, ntt_primes

Clock = Callable[[], float]

_PROCESSES = Path("/proc")
_RESET_PEAK = "5"

# Shapes at which each limit is reached; more only takes longer.
_COPIED_WORDS = 1 << 26
_MATRIX = 1024
_RING, _INPUTS, _OUTPUTS, _LARGEST_WEIGHT = 8192, 512, 64, 1 << 11
_TRIALS = 9


@dataclass
class Stopwatch:
    """Adds up seconds by stage; stages do not nest."""

    clock: Clock = time.perf_counter
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside towards that stage, also where it fails."""
        started = self.clock()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + self.clock() - started


@dataclass(frozen=True)
class MachineLimits:
    """The most that the threads in use achieve on this machine, measured in the same run.

    Attributes:
        multiply_adds: modular multiply-adds of a 31-bit residue and a weight a second: the faster
            of our linear kernel on data in the cache and a float64 matrix product by BLAS.
        bytes: bytes read and written a second by a copy that fits no cache.
    """

    multiply_adds: float
    bytes: float


def measure_limits() -> MachineLimits:
    """Both limits, at the threads that are set; takes about a second."""
    import torch  # here, as it is most of the memory of a process that only measures itself

    rng = np.random.default_rng(0)
    source = torch.zeros(_COPIED_WORDS, dtype=torch.int32)
    target = torch.empty_like(source)
    copied = 2 * source.numel() * source.element_size()

    matrix = torch.from_numpy(rng.random((_MATRIX, _MATRIX)))

    basis = kernels.Basis(_RING, ntt_primes(_RING, MAX_LIMB_BITS, 1))
    residues = rng.integers(0, basis.primes[0], (_INPUTS, 2, 1, _RING), dtype=np.int32)
    weights = rng.integers(-_LARGEST_WEIGHT, _LARGEST_WEIGHT, (_OUTPUTS, _INPUTS))
    kernel = _OUTPUTS * residues.size / _shortest(lambda: kernels.linear(weights, residues, basis))
    blas = _MATRIX**3 / _shortest(lambda: matrix @ matrix)
    return MachineLimits(
        multiply_adds=max(kernel, blas), bytes=copied / _shortest(lambda: target.copy_(source))
    )


def reset_peak_memory() -> None:
    """Forget the largest memory so far, of this process; where the system allows it."""
    try:
        (_PROCESSES / "self" / "clear_refs").write_text(_RESET_PEAK)
    except OSError:  # not Linux, or not allowed: the peak since the start is an upper bound
        return


def peak_memory() -> int:
    """Largest resident bytes since the reset: this process and its children, added up.

    Pages that they share are counted for each, so the sum is an upper bound. 0 where the system
    does not tell.
    """
    return sum(_high_water(pid) for pid in [os.getpid(), *_children()])


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """For each key of the first run the median over all runs that have it, in its order."""
    names = {name: None for run in runs for name in run}
    return {name: median(run[name] for run in runs if name in run) for name in names}


def _shortest(work: Callable[[], object]) -> float:
    """A limit is what is possible: the best of several, not the typical."""
    best = float("inf")
    for _ in range(_TRIALS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def _children() -> list[int]:
    try:
        lists = (_PROCESSES / "self" / "task").glob("*/children")
        return [int(pid) for one in lists for pid in one.read_text().split()]
    except OSError:
        return []


def _high_water(pid: int) -> int:
    try:
        status = (_PROCESSES / str(pid) / "status").read_text()
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0][1]) * 1024 if lines else 0
