"""Stopwatch, medians, memory and the machine's limits."""

from pathlib import Path

import numpy as np
import pytest

from securefair.profiling.measure import (
    Stopwatch,
    measure_limits,
    medians,
    peak_memory,
    reset_peak_memory,
)


def ticking(*times):
    values = iter(times)
    return lambda: next(values)


def test_stages_add_up():
    watch = Stopwatch(clock=ticking(1.0, 3.0, 10.0, 10.5, 20.0, 24.0))
    for stage in ("square", "rescale", "square"):
        with watch.stage(stage):
            pass
    assert watch.seconds == {"square": 6.0, "rescale": 0.5}


def test_a_stage_that_fails_still_counts():
    watch = Stopwatch(clock=ticking(1.0, 4.0))
    with pytest.raises(ZeroDivisionError), watch.stage("square"):
        1 / 0  # noqa: B018
    assert watch.seconds == {"square": 3.0}


def test_medians_over_the_runs_that_have_a_stage():
    runs = [{"b": 5.0, "a": 1.0}, {"a": 9.0}, {"a": 2.0, "c": 7.0}]
    assert list(medians(runs).items()) == [("b", 5.0), ("a", 2.0), ("c", 7.0)]


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells")
def test_peak_memory_forgets_what_was_freed_before_the_reset():
    size = 1 << 27
    held = np.ones(size, dtype=np.uint8)
    with_array = peak_memory()
    del held
    reset_peak_memory()
    without = peak_memory()
    assert without < with_array - size // 2
    held = np.ones(size, dtype=np.uint8)
    # Not with_array: tests before this one may have freed gigabytes, which it still held.
    assert peak_memory() > without + size // 2
    assert held.all()


def test_limits_are_speeds(monkeypatch):
    monkeypatch.setattr("securefair.profiling.measure._COPIED_WORDS", 1 << 12)
    monkeypatch.setattr("securefair.profiling.measure._MATRIX", 16)
    monkeypatch.setattr("securefair.profiling.measure._RING", 1024)
    monkeypatch.setattr("securefair.profiling.measure._INPUTS", 4)
    monkeypatch.setattr("securefair.profiling.measure._TRIALS", 2)
    found = measure_limits()
    assert 1e5 < found.multiply_adds < 1e15
    assert 1e5 < found.bytes < 1e15
