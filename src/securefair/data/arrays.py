"""Samples from arrays and data sets: .npz files, and whatever a torch data set gives.

No torch here: a tensor is what numpy can read. Features come as they are or from one public range
that becomes [-1, 1]; nothing is fitted to anybody's data.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.errors import DataError, printable

_log = logging.getLogger(__name__)

FeatureRange = tuple[float, float]


@runtime_checkable
class IndexedDataset(Protocol):
    """A data set with samples by number, such as a map-style torch.utils.data.Dataset."""

    def __len__(self) -> int:
        """Number of samples."""

    def __getitem__(self, index: int, /) -> object:
        """One sample: its features and its label."""


def samples_of(
    data: object,
    *,
    where: str,
    classes: int | None = None,
    feature_range: FeatureRange | None = None,
    learns: bool = True,
) -> Samples:
    """Samples with features (B, d) float64 in [-1, 1].

    Args:
        data: `Samples`; a pair (features, labels) of arrays or tensors; or an indexed data set
            whose entries are such pairs for one sample. Features of more dimensions are flattened,
            labels may have trailing dimensions of size 1.
        where: whose data, for error messages.
        classes: number of classes; None takes the largest label for the last class.
        feature_range: becomes [-1, 1], values beyond are clipped; None: features must be within
            [-1, 1] already.
        learns: whether a model is to learn of them: then they must fill some of the range.

    Raises:
        DataError: it is none of these, has no samples, or holds NaN, features beyond [-1, 1] or
            labels that are no classes; names `where`, sample and feature.
    """
    shape = None
    if isinstance(data, Samples):
        classes, shape = classes or data.classes, data.shape
        data = (data.features, data.labels)
    features, labels = arrays_of(data, where=where)
    flat = _features(features, where)
    found = _labels(labels, where)
    if len(flat) != len(found):
        raise DataError(
            "features and labels disagree", where=where, found=f"{len(flat)} and {len(found)}"
        )
    wrong = ~np.isfinite(flat)
    if wrong.any():
        at = np.argwhere(wrong)[0]
        raise DataError(
            "a feature is NaN or infinite",
            where=f"{where}, sample {at[0]}, feature {at[1]}",
            hint="Fill missing values before, or add a feature that says so",
        )
    scaled = _scaled(flat, feature_range, where, learns=learns)
    if classes is not None and not isinstance(classes, int | np.integer):
        raise DataError(
            "classes are counted", where=where, found=classes, expected="a whole number, or None"
        )
    known = int(found.max()) + 1 if classes is None else classes
    if classes is None and known > MOST_CLASSES:
        raise DataError(
            "labels are no numbers of classes",
            where=where,
            found=f"the largest is {known - 1}",
            expected=f"whole numbers from 0, below {MOST_CLASSES}",
            hint="Number the classes from 0, alike everywhere",
        )
    if found.min() < 0 or found.max() >= known:
        at = int(np.flatnonzero((found < 0) | (found >= known))[0])
        raise DataError(
            "a label is no class",
            where=f"{where}, sample {at}",
            found=int(found[at]),
            expected="0 or more" if classes is None else f"0 to {known - 1}",
        )
    given = tuple(size for size in features.shape[1:] if size > 1)  # other axes order nothing
    return Samples(scaled, found, known, shape=given if shape is None else shape)


MOST_CLASSES = 10_000
"""Larger labels are codes of something: arrays of so many classes would fill any memory."""

LEAST_OF_RANGE, LEAST_OF_COUNTS = 0.005, 0.001
"""Shares of a range that values must fill: images in 0 to 1 fill 1/255 of one that is 0 to 255."""

FEWEST_VALUES = 20
"""Values from which it is no chance that all of them lie in so small a part of a range."""

FEW = 10
"""Whole numbers that differ by no more may be counts, of which a small hospital has few."""

LEAST_FOR_RANGES = 5
"""Samples from which a range that holds few of them is wrong."""

MOST_BEYOND, MANY_BEYOND = 0.5, 0.05
"""Shares of a feature's values that a range clips: of more it is wrong, of so many it is told.
Three standard deviations clip 0.3 %."""


def read_npz(path: Path) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """The arrays `features` (B, ...) and `labels` (B,) of a .npz file.

    Raises:
        DataError: the file cannot be read, an array is missing, or it holds Python objects, which
            are never loaded.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            absent = [name for name in ("features", "labels") if name not in archive]
            if absent:
                raise DataError(
                    "an array is missing",
                    where=f"{path.name}, {absent[0]}",
                    found=", ".join(archive.files) or "no array",
                    expected="features and labels",
                )
            return archive["features"], archive["labels"]
    except OSError as error:
        raise DataError("cannot read the arrays", where=str(path), found=error.strerror) from error
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DataError("not a .npz file of numbers", where=str(path), found=str(error)) from error


def arrays_of(data: object, *, where: str) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """Features (B, ...) and labels of a pair or an indexed data set, as they are.

    Raises:
        DataError: it is neither, has no samples, their shapes differ, or a label is missing.
    """
    if isinstance(data, tuple) and len(data) == 2:
        return array_of(data[0], where), _known(array_of(data[1], where), where)
    if isinstance(data, tuple) and any(
        isinstance(one, tuple) or hasattr(one, "dtype") for one in data
    ):
        raise DataError(
            "data come in pairs",
            where=where,
            found=f"a tuple of {len(data)}",
            expected="(features, labels), or (training, test) of such",
        )
    table = hasattr(data, "columns") or isinstance(data, str | Path)
    if table or isinstance(data, Mapping) or not isinstance(data, IndexedDataset):
        hint = "A table needs the column to predict: label=..." if table else None
        raise DataError(
            "this is no data set",
            where=where,
            found=type(data).__name__,
            expected="(features, labels), Samples, samples by number as torch's map-style data "
            "sets, or a DataFrame with label=",
            hint="Give the data set of this loader" if hasattr(data, "dataset") else hint,
        )
    features, labels = [], []
    for at in range(len(data)):
        match _sample(data, at, where):
            case (x, y):
                features.append(array_of(x, f"{where}, sample {at}"))
                own = array_of(y, f"{where}, sample {at}").reshape(-1)
                labels.append(_known(own, where, at))
            case other:
                count = f" of {len(other)}" if isinstance(other, tuple | list) else ""
                raise DataError(
                    "a sample is no pair of features and label",
                    where=f"{where}, sample {at}",
                    found=f"{type(other).__name__}{count}",
                    expected="(features, label)",
                )
    if not features:
        raise DataError("there are no samples", where=where)
    try:
        return np.stack(features), np.stack(labels)
    except ValueError as error:
        raise DataError("samples differ in shape", where=where, found=str(error)) from error


def _sample(data: IndexedDataset, at: int, where: str) -> object:
    """One entry of somebody's own data set."""
    try:
        return data[at]
    except Exception as error:  # whatever foreign code raises is its own fault
        raise DataError(
            f"the data set failed with {type(error).__name__}: {error}",
            where=f"{where}, sample {at}",
        ) from error


def array_of(values: object, where: str) -> NDArray[np.generic]:
    """Numbers that may be a tensor with a gradient, or on another device.

    Raises:
        DataError: rows differ in length, numpy has no such numbers, or a value is masked.
    """
    _refuse_masked(values, where)
    detach = getattr(values, "detach", None)
    try:
        return np.asarray(values if detach is None else detach().cpu())
    except ValueError as error:  # rows of different length
        raise DataError("this is no array", where=where, found=str(error)) from error
    except TypeError as error:  # a tensor's, such as bfloat16, or sparse ones
        raise DataError(
            "numpy cannot read these numbers",
            where=where,
            found=str(error),
            expected="an array or a dense tensor of floats or whole numbers",
            hint="tensor.float(), or tensor.to_dense().float()",
        ) from error


def _refuse_masked(values: object, where: str) -> None:
    """What stands behind a mask is whatever was there, and numpy would take it for a value."""
    for row, one in enumerate(values) if isinstance(values, list | tuple) else [(None, values)]:
        if isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one):
            at = np.argwhere(np.ma.getmaskarray(one)).tolist()[0]
            raise DataError(
                "a value is masked",
                where=where,
                found=f"entry {at if row is None else [row, *at]}",
                hint="Fill missing values before (array.filled), or leave such samples out",
            )


def _known(labels: NDArray[np.generic], where: str, at: int | None = None) -> NDArray[np.generic]:
    """Labels, none of which is None or NaN: as a text, such a one would become a class.

    Args:
        labels: of all samples, or of one.
        where: whose they are.
        at: which sample, if it is one.

    Raises:
        DataError: one is missing; names the sample.
    """
    each = labels.ravel().tolist() if labels.dtype.kind in "fO" else []
    absent = [place for place, one in enumerate(each) if _is_missing(one)]
    if absent:
        sample = absent[0] // (labels.size // len(labels)) if at is None else at
        raise DataError(
            "a label is missing",
            where=f"{where}, sample {sample}",
            hint="Leave such samples out, the features with them",
        )
    return labels


def _is_missing(label: object) -> bool:
    """None, NaN, and what pandas writes for these."""
    nan = isinstance(label, float) and label != label
    return label is None or nan or type(label).__name__ in ("NAType", "NaTType")


def _features(features: NDArray[np.generic], where: str) -> NDArray[np.float64]:
    if features.dtype.kind not in "fiub" or features.ndim == 0:
        raise DataError(
            "features are not numbers",
            where=where,
            found=f"{features.dtype} {features.shape}",
            expected="an array of floats, whole numbers or booleans",
            hint="features.astype(float), if all of them are numbers",
        )
    if features.size == 0:
        raise DataError("there are no samples, or no features", where=where, found=features.shape)
    return features.reshape(len(features), -1).astype(np.float64)


def _labels(labels: NDArray[np.generic], where: str) -> NDArray[np.int64]:
    one_each = labels.ndim >= 1 and labels.size == len(labels)
    whole = one_each and labels.dtype.kind in "fiub"
    if whole and labels.dtype.kind == "f":
        whole = bool(np.isfinite(labels).all() and (labels == np.rint(labels)).all())
    if not whole:
        raise DataError(
            "labels are not one class number a sample",
            where=where,
            found=f"{labels.dtype} {labels.shape}",
            expected="whole numbers from 0, (B,)",
            hint="Number the classes from 0; of one-hot rows take the argmax",
        )
    return labels.reshape(-1).astype(np.int64)


def _check_wide(
    features: NDArray[np.float64], low: float, high: float, where: str, *, learns: bool
) -> None:
    """Refuse a range in which values are all but equal; counts may be few, and are warned of, as
    are samples that no model learns of: one dark image is one."""
    spread = np.ptp(features)
    if features.size < FEWEST_VALUES or not 0 < spread < LEAST_OF_RANGE * (high - low):
        return
    counts = spread <= FEW and bool((features == np.rint(features)).all())
    if not learns or (counts and spread >= LEAST_OF_COUNTS * (high - low)):
        _log.warning(
            "%s: values %g to %g become nearly equal by feature_range",
            *(printable(where), features.min(), features.max()),
        )
        return
    raise DataError(
        "feature_range is so wide that all values become nearly equal",
        where=where,
        found=f"values {features.min():g} to {features.max():g}",
        expected=f"a range not much wider, where [{low:g}, {high:g}] was given",
        hint="Scale everyone's values alike: images are 0 to 255, or 0 to 1, at all hospitals",
    )


def _scaled(
    features: NDArray[np.float64], feature_range: FeatureRange | None, where: str, *, learns: bool
) -> NDArray[np.float64]:
    if feature_range is not None:
        low, high = feature_range
        beyond = ((features < low) | (features > high)).mean(axis=0)
        at = int(np.argmax(beyond))
        own = features[:, at]
        if len(features) >= LEAST_FOR_RANGES and beyond[at] > MOST_BEYOND:
            raise DataError(
                "feature_range clips most values of a feature, which would then tell little",
                where=f"{where}, feature {at}",
                found=f"values {own.min():g} to {own.max():g}, {beyond[at]:.0%} of them beyond",
                expected=f"values within [{low:g}, {high:g}]",
                hint="Give the range of all features, or scale each by itself before",
            )
        if len(features) >= LEAST_FOR_RANGES and beyond[at] > MANY_BEYOND:
            _log.warning(
                "%s, feature %d: feature_range clips %.0f %% of the values (%g to %g)",
                *(printable(where), at, 100 * beyond[at], own.min(), own.max()),
            )
        _check_wide(features, low, high, where, learns=learns)
        return np.clip(2.0 * (features - low) / (high - low) - 1.0, -1.0, 1.0)
    beyond = np.abs(features) > 1.0
    if beyond.any():
        at = np.argwhere(beyond)[0]
        raise DataError(
            "a feature lies beyond [-1, 1]",
            where=f"{where}, sample {at[0]}, feature {at[1]}",
            found=round(float(features[tuple(at)]), 4),
            hint="Give a feature_range known beforehand, such as [-3, 3] for standardised values",
        )
    return features
