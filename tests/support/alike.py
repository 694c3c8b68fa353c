"""Results of two encrypted runs: equal but for what the noise of answers moves."""

from typing import Any

import pytest

SCORES = 0.02
"""Most that an average score may differ between runs under different keys.

Each opened number is off by up to `encryption.error_bound`, 2^-10 of the range unless asked
otherwise. No bound of scores follows, for training amplifies it and a hair may decide a sample:
one of the smallest hospital's 41 moves the average accuracy by 0.006. This allows three of those.
"""
AT_A_HOSPITAL = {"accuracy": 0.05, "auc": 0.05, "log_loss": SCORES, "brier": SCORES}
"""The same of one hospital's score: two patients of the smallest, or what turns their order.

Probabilities turn nobody, so the other two scores move less: 0.001 in runs of the demo.
"""
FIXED = (
    "name",
    "samples",
    "train_samples",
    "test_samples",
    "majority_accuracy",
    "standalone_accuracy",
)


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


def assert_runs_alike(first: Any, second: Any) -> None:
    """Two metrics.json: what nothing encrypted reaches exactly, the other scores nearly.

    These on average and at every hospital. And errors of each run are within the bound that its
    plan states.
    """
    (same, scores), (again, others) = _split(first), _split(second)
    assert same == again
    assert scores.keys() == others.keys()
    for name, figures in scores.items():
        for score, tolerance in AT_A_HOSPITAL.items():
            one, other = figures[score], others[name][score]
            where = f"{name}, {score}"
            assert_alike(one["mean"], other["mean"], SCORES, where)
            assert_alike(one["by_hospital"], other["by_hospital"], tolerance, where)


def _split(metrics: Any) -> tuple[Any, Any]:
    """What noise cannot move, such as controls, and scores that it can, by algorithm."""
    same = dict(metrics)
    same["encryption"] = dict(metrics["encryption"])
    most = float(f"{same['encryption']['error_bound']:.1e}")  # as errors are written
    assert 0 < same["encryption"].pop("max_abs_error") <= most
    same["participants"] = [{key: own[key] for key in FIXED} for own in metrics["participants"]]
    figures = metrics["algorithms"]
    same["algorithms"] = {name: figures[name] for name in metrics["controls"]}
    scores = {
        name: figure["metrics"]
        for name, figure in figures.items()
        if name not in metrics["controls"]
    }
    return same, scores
