"""What the term that CaPriDe's loss leaves out is, and that no gradient misses it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return import_module("log_sum_exp")


def test_the_term_makes_no_gradient(bench: ModuleType) -> None:
    rng = np.random.default_rng(0)
    mine, theirs = rng.normal(size=(2, 50, 10))
    exact = bench.log_sum_exp(theirs)[:, None]
    np.testing.assert_allclose(
        bench.pull(mine, theirs), bench.pull(mine, theirs - exact), atol=1e-14
    )


def test_the_expansion_gets_closer_with_every_order(bench: ModuleType) -> None:
    logits = np.random.default_rng(0).normal(size=(50, 10), scale=0.2)
    exact = bench.log_sum_exp(logits)
    off = [np.abs(bench.expanded(logits, order) - exact).max() for order in bench.ORDERS]
    assert off == sorted(off, reverse=True)
    assert off[-1] < 1e-3 < off[1]
