"""Benchmarks run rarely; at least what they import is there."""

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


SCRIPTS = sorted([*BENCH.glob("*.py"), BENCH / "peers" / "head.py"])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_can_be_imported(script, monkeypatch):
    monkeypatch.syspath_prepend(script.parent)
    importlib.import_module(script.stem)
