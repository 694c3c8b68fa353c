"""What estimators check before they fit: settings, weights, and the answers of peers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from securefair.errors import ConfigError, DataError
from securefair.model.transfer import OwnFit, Transferred, transfer, transfer_each

Array = NDArray[np.float64]


def check_settings(degree: object, folds: object, **switches: object) -> None:
    """Refuse a degree, a number of folds or a switch that no fit has.

    Raises:
        ConfigError: names which.
    """
    for name, given, fits, expected in (
        ("degree", degree, degree in (1, 2), "1 or 2"),
        ("folds", folds, isinstance(folds, Integral) and int(folds) >= 2, "a whole number from 2"),
        *(
            (name, given, isinstance(given, bool | np.bool_), "True or False")
            for name, given in switches.items()
        ),
    ):
        if not fits:
            raise ConfigError("out of range", where=name, found=given, expected=expected)


def check_draws(draws: object) -> None:
    """Refuse a bootstrap that has no intervals.

    Raises:
        ConfigError: fewer than two draws.
    """
    if not (isinstance(draws, Integral) and int(draws) >= 2):
        raise ConfigError(
            "out of range", where="draws", found=draws, expected="a whole number from 2"
        )


def plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels of numbers that stand in an array of objects, as the array that they make."""
    if labels.dtype == object and not any(isinstance(one, str | bytes) for one in labels):
        return np.asarray(labels.tolist())
    return labels


def numbers_of(values: ArrayLike, where: str, hint: str | None = None) -> Array:
    """Numbers as an array.

    Raises:
        DataError: they are none; names `where`.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            "these are no numbers",
            where=where,
            found=_kind_of(values),
            expected="numbers",
            hint=hint,
        ) from error


def two_columns(
    first: ArrayLike, second: ArrayLike | None, name: str, *, optional: bool = False
) -> Array:
    """What is known of each patient as two numbers, (n, 2).

    Args:
        first: (n,), or both as (n, 2), or as a structured array of a number and a boolean (the
            second), in whatever order.
        second: (n,).
        name: of the second.
        optional: whether it is 1 for everybody where nobody gave it.

    Raises:
        DataError: there is no second, they are no numbers, or not one of each a patient.
    """
    known = np.asarray(first)
    if known.dtype.names is not None and second is None and len(known.dtype.names) == 2:
        flag, number = sorted(known.dtype.names, key=lambda one: known.dtype[one].kind != "b")
        known, second = known[number], known[flag]
    known = numbers_of(known, "y")
    if known.ndim == 2 and known.shape[1] == 2 and second is None:
        return known
    known = known[:, 0] if known.ndim == 2 and known.shape[1] == 1 else known
    if second is None and optional:
        second = np.ones(known.shape)
    if second is None:
        raise DataError(
            f"{name} is missing",
            where=name,
            found=known.shape,
            expected=f"fit(X, y, {name}), or y of two columns",
        )
    beside = numbers_of(second, name, "1 where it came, 0 elsewhere" if name == "event" else None)
    if known.ndim != 1 or beside.shape != known.shape:
        raise DataError(
            "not one number a patient", where=name, found=beside.shape, expected=known.shape
        )
    return np.column_stack([known, beside])


def refuse_rows(values: Array, wrong: NDArray[np.bool_], what: str, unit: str = "row") -> None:
    """Refuse what no patient can have, by the first such row.

    Raises:
        DataError: one of `wrong` holds.
    """
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(what, where=f"{unit} {row}", found=float(values[row]))


def checked_weights(given: ArrayLike | None, samples: int) -> Array:
    """How much each sample counts, (n,).

    Raises:
        DataError: they are no numbers.
        ValueError: as scikit-learn's estimators.
    """
    if given is None:
        return np.ones(samples)
    weights = numbers_of(given, "sample_weight")
    weights = np.full(samples, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({samples},)")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite, and not below 0")
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero, so nobody counts")
    return weights


def transferred_of(
    own: OwnFit,
    peers: Mapping[str, ArrayLike] | ArrayLike | None,
    degree: Literal[1, 2],
    counted: NDArray[np.bool_],
) -> Transferred:
    """Own fits with peers' answers as estimators take them.

    Args:
        own: fits of those that count.
        peers: what they said of all.
        degree: of the peers.
        counted: (n,), who counts.

    Raises:
        ConfigError: answers are not of these patients.
    """
    shape = (len(counted), own.design.outputs)
    if peers is None:
        return transfer(own, None)
    if not isinstance(peers, Mapping):
        return transfer(own, _answer(peers, shape, "peers")[counted], degree)
    answers = {name: _answer(z, shape, name)[counted] for name, z in peers.items()}
    return transfer_each(own, answers, degree) if answers else transfer(own, None)


def _answer(values: ArrayLike, shape: tuple[int, int], name: str) -> Array:
    """A peer's logits as an array of the shape that these patients ask for."""
    array = numbers_of(
        values,
        f"answer of {name}",
        "A peer says the logits of these patients: its decision_function(X) or predictor(X)",
    )
    array = array[:, None] if array.ndim == 1 else array
    if array.shape != shape:
        raise ConfigError(
            "a peer's answer is not of these patients and classes",
            where=name,
            found=array.shape,
            expected=f"{shape}",
            hint="Logits, by peer: peers={'north': logits}. Fit to the patients that were asked "
            "about; in a cross-validation of folds the answers of the others would be needed as "
            "well",
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ConfigError(
            "a peer's answer is NaN or infinite", where=name, found=f"row {row}", expected="numbers"
        )
    return array


def _kind_of(values: object) -> str:
    """What stands where numbers belong: never the values, which may be patients'."""
    array = np.asarray(values, dtype=object)
    first = next(iter(array.ravel()), values)
    return f"{type(first).__name__} among them" if array.ndim else type(values).__name__
