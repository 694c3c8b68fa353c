"""Survival over time, as a model says it and as it was seen, and the pictures of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError
from securefair.model.outcomes.pictures import (
    LEAST,
    PREDICTED,
    REACH,
    SEEN,
    SHARES,
    Shown,
    came_true,
    parts_of,
    rounded,
    ticks_between,
)
from securefair.records import Picture, PictureSeries

Array = NDArray[np.float64]

GRID = 60
"""Steps of a curve."""

RISKS = {1: ("all",), 2: ("low", "high"), 3: ("low", "middle", "high")}
"""Names of groups of patients by what is predicted, the lowest risk first."""

FEWEST_LEFT = 5
"""Patients still followed where axes of time end: beyond, curves say little."""

MOST_DOTS = 5


def survival(predictors: Array, own: Mapping[str, Sequence[float]], horizons: Array) -> Array:
    """The probability of no event until each horizon, (B, H), by the own baseline.

    Args:
        predictors: (B, 1).
        own: `TimeToEvent.own_part`.
        horizons: (H,), in the unit of the times.
    """
    result: Array = np.exp(-np.exp(predictors) * baseline(own, horizons))
    return result


def baseline(own: Mapping[str, Sequence[float]], horizons: Array) -> Array:
    """The own cumulative hazard of a patient of predictor 0 until each horizon, as they come."""
    steps = np.searchsorted(np.array(own["times"]), horizons, side="right")
    hazard: Array = np.concatenate([[0.0], np.array(own["hazard"])])[steps]
    return hazard


def check_followed(own: Mapping[str, Sequence[float]], horizons: Array) -> None:
    """Refuse a time until which none of the own patients in training was followed.

    Raises:
        ConfigError: names the latest horizon.
    """
    until = own["until"]
    if until and horizons.max() > until[0]:
        raise ConfigError(
            "the own patients in training say nothing of so late a time",
            where="horizon",
            found=f"{horizons.max():g}",
            expected=f"at most {until[0]:g}",
        )


def kaplan_meier(times: Array, events: Array, at: Array) -> tuple[Array, Array, Array]:
    """The share without an event until each of the times `at`, (T,), with a 95 % interval.

    The interval is Greenwood's on the scale of log(-log S), so that it stays within [0, 1].
    """
    came = np.unique(times[events > 0])
    died = ((times[:, None] == came) & (events[:, None] > 0)).sum(axis=0)
    at_risk = (times[:, None] >= came).sum(axis=0)
    left = np.cumprod(1 - died / at_risk)
    spread = np.cumsum(died / np.maximum(at_risk * (at_risk - died), 0.5))
    step = np.searchsorted(came, at, side="right")
    share = np.concatenate([[1.0], left])[step]
    inner = (share > 0) & (share < 1)
    log = np.log(np.where(inner, share, 0.5))
    reach = REACH * np.sqrt(np.concatenate([[0.0], spread])[step]) / -log
    low = np.where(inner, share ** np.exp(reach), share)
    high = np.where(inner, share ** np.exp(-reach), share)
    return share, low, high


def survival_pictures(shown: Sequence[Shown]) -> list[Picture]:
    """Survival by predicted risk, calibration at one horizon, and residuals of Cox and Snell.

    Args:
        shown: of each hospital; what is said begins with the log hazard ratio.
    """
    known = np.concatenate([one.samples.values for one in shown if one.samples.values is not None])
    times, events = known.T
    if not events.any() or len(times) < LEAST or not all(one.own["times"] for one in shown):
        return []
    last = float(np.sort(times)[-FEWEST_LEFT])
    ticks = ticks_between(0.0, last)
    grid = np.linspace(0.0, last, GRID + 1)
    horizon = float(f"{np.quantile(times[events > 0], 0.5):.3g}")
    said = np.concatenate(
        [survival(one.said[:, :1], one.own, np.append(grid, horizon)) for one in shown]
    )
    hazards = np.concatenate(
        [
            np.exp(one.said[:, 0]) * baseline(one.own, one.samples.values[:, 0])
            for one in shown
            if one.samples.values is not None
        ]
    )
    return [
        _by_risk(times, events, grid, said[:, :-1], said[:, -1], ticks),
        *_at_horizon(times, events, said[:, -1], horizon),
        *_residuals(hazards, events),
    ]


def _by_risk(
    times: Array, events: Array, grid: Array, said: Array, until: Array, ticks: list[float]
) -> Picture:
    groups = parts_of(-until, max(RISKS)) or [np.arange(len(times))]
    series = []
    for name, group in zip(RISKS[len(groups)], groups, strict=True):
        inside = grid <= times[group].max()
        seen, _, _ = kaplan_meier(times[group], events[group], grid[inside])
        at_risk = (times[group][:, None] >= np.array(ticks)).sum(axis=0)
        series += [
            PictureSeries(
                name=f"{SEEN}_{name}",
                form="steps",
                x=rounded(grid[inside]),
                y=rounded(seen),
                patients=at_risk.tolist(),
            ),
            PictureSeries(
                name=f"{PREDICTED}_{name}",
                form="line",
                x=rounded(grid),
                y=rounded(said[group].mean(axis=0)),
            ),
        ]
    return Picture(name="survival", x_ticks=ticks, y_ticks=SHARES, series=series, y_shares=True)


def _at_horizon(times: Array, events: Array, until: Array, horizon: float) -> list[Picture]:
    parts = parts_of(until, MOST_DOTS)
    if not parts:
        return []
    seen = [kaplan_meier(times[part], events[part], np.array([horizon])) for part in parts]
    share, low, high = map(rounded, np.array(seen)[:, :, 0].T)
    predicted = rounded([until[part].mean() for part in parts])
    patients = [len(part) for part in parts]
    at = {"horizon": horizon}
    return [came_true("survival_until", predicted, (share, low, high), patients, at)]


def _residuals(hazards: Array, events: Array) -> list[Picture]:
    """Cumulative hazards at own times: where the model is right, they are exponential times."""
    order = np.argsort(hazards, kind="stable")
    sorted_hazards, came = hazards[order], events[order]
    seen = np.cumsum(came / np.arange(len(came), 0, -1))
    last = float(sorted_hazards[-FEWEST_LEFT])
    if last <= 0:
        return []
    grid = np.linspace(0.0, last, GRID + 1)
    step = np.searchsorted(sorted_hazards, grid, side="right")
    total = np.concatenate([[0.0], seen])[step]
    ticks = ticks_between(0.0, max(last, float(total.max())))
    series = PictureSeries(name="hazard", form="steps", x=rounded(grid), y=rounded(total))
    return [
        Picture(
            name="hazards", x_ticks=ticks, y_ticks=ticks, series=[series], alike=True, behind=True
        )
    ]
