"""docs/networks.md shows the frontier that bench/frontier.py draws."""

from __future__ import annotations

import importlib
import math
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "networks.md"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bench")
    return importlib.import_module("frontier")


def point(bench, name, ms, accuracy, measured=None):
    return bench.Point(
        name=name,
        multiply_adds=1_000_000,
        squares=2_000,
        parameters=3_000,
        accuracy=accuracy,
        planned_seconds=100.0,
        ring_degree=16384,
        limbs=13,
        log_qp=421.0,
        ms_per_image=ms,
        measured=measured,
    )


def measured(bench, **changes):
    return bench.Measured(
        **{
            "ms_per_image": 8.6,
            "processor_ms_per_image": 16.0,
            "accuracy_clear": 0.78,
            "accuracy_encrypted": 0.77,
            "agreement": 0.99,
            "peak_rss_mb": 6700.0,
            "threads": 2,
            **changes,
        }
    )


def test_times_that_were_not_measured_are_called_planned(bench):
    points = [
        point(bench, "one", 8.6, 0.78, measured(bench)),
        point(bench, "two", 19.4, 0.84),
    ]
    first, second = bench.table(points).splitlines()[2:]
    assert "| 8.6 | 78.00% | 77.00% | 99.00% |" in first
    assert "| 19 (planned) | 84.00% | not measured | not measured |" in second
    texts = [text.get_text() for text in bench.draw(points).axes[0].texts]
    assert texts == ["one", "two (time planned)", "goal"]


def test_the_page_shows_what_is_kept(bench):
    kept = bench.read_json(bench.KEPT, dict[str, bench.Measured])
    table = PAGE.read_text().split("<!-- frontier -->")[1].split("<!-- /frontier -->")[0]
    rows = {row.split("`")[1]: row for row in table.splitlines() if "`" in row}
    assert set(rows) == set(bench.NETWORKS)
    for name, found in kept.items():
        assert f"| {found.ms_per_image:.1f} |" in rows[name]
        assert f"{found.agreement:.2%}" in rows[name]
    for name in set(rows) - set(kept):
        assert "(planned)" in rows[name]
    assert math.isfinite(kept[bench.KNOWN].ms_per_image)
