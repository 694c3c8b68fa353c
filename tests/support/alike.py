"""Results of two encrypted runs: equal but for the last digits of what encryption moves."""

from typing import Any

import pytest


def assert_alike(first: Any, second: Any, tolerance: float, where: str = "") -> None:
    """The same keys, texts and counts; other numbers within the tolerance."""
    assert type(first) is type(second), where
    if isinstance(first, dict):
        assert first.keys() == second.keys(), where
        for key, value in first.items():
            assert_alike(value, second[key], tolerance, f"{where}.{key}")
    elif isinstance(first, list):
        assert len(first) == len(second), where
        for at, value in enumerate(first):
            assert_alike(value, second[at], tolerance, f"{where}[{at}]")
    elif isinstance(first, float):
        assert first == pytest.approx(second, abs=tolerance), where
    else:
        assert first == second, where
