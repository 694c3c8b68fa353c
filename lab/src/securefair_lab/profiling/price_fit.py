"""Prices of a cost model, by least squares on relative errors of what was measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from securefair.circuit import ExchangePlan
from securefair.errors import DataError
from securefair.profiling import FORMAT, OPTIONAL, QUANTITIES, CostModel, counts


def fit_model(
    plans: Sequence[ExchangePlan],
    measured: Sequence[Mapping[str, float]],
    *,
    machine: str,
    backend: str,
    threads: int,
) -> CostModel:
    """Prices that explain the measurements best.

    Args:
        plans: of the exchanges.
        measured: for each of them a positive value of every quantity.
        machine, backend, threads: where and with what they were measured.

    Raises:
        DataError: too few measurements, or one that is not positive.
    """
    from scipy.optimize import nnls  # takes a while to load

    widest = max(QUANTITIES.values())
    lowest = min(
        (m[name] for m in measured for name in QUANTITIES if name not in OPTIONAL), default=0
    )
    if len(plans) < widest or not lowest > 0:
        raise DataError(
            "a cost model needs more measurements, all positive",
            found=len(plans),
            expected=f"at least {widest}",
        )
    known = [counts(plan) for plan in plans]
    prices: dict[str, tuple[float, ...]] = {}
    errors: dict[str, float] = {}
    for name, width in QUANTITIES.items():
        if not any(m[name] for m in measured):
            prices[name], errors[name] = (0.0,) * width, 0.0
            continue
        rows = np.array([row[name] for row in known], dtype=np.float64)
        values = np.array([m[name] for m in measured], dtype=np.float64)
        scale = rows.max(axis=0)
        scale[scale == 0] = 1.0
        # Dividing a row by its value turns least squares on errors into one on relative errors.
        found, _ = nnls(rows / scale / values[:, None], np.ones(len(values)))
        prices[name] = tuple((found / scale).tolist())
        errors[name] = float(np.abs(rows @ np.array(prices[name]) / values - 1).max())
    return CostModel(
        format=FORMAT,
        spec=plans[0].spec,
        machine=machine,
        backend=backend,
        threads=threads,
        samples=_range([plan.spec.samples for plan in plans]),
        features=_range([plan.spec.features for plan in plans]),
        prices=prices,
        largest_error=errors,
    )


def _range(values: Sequence[int]) -> tuple[int, int]:
    return min(values), max(values)
