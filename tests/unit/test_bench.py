"""Benchmarks run rarely; at least what they import is there."""

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCH.glob("*.py")))
def test_a_benchmark_can_be_imported(name, monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    importlib.import_module(name)
