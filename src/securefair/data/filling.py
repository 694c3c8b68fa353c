"""Missing values as what the patient's other columns make likely, by the hospital's own patients.

A normal distribution of all features is fitted to the training patients, of whom not everything is
known, by expectation-maximisation (Dempster, Laird and Rubin 1977; Little and Rubin, Statistical
Analysis with Missing Data, section 11.2). A missing value becomes its mean given what is known of
the patient; the feature that says that it is missing stays. With few patients correlations shrink
towards 0, as if one patient a feature more had been seen, all of them uncorrelated.

Nobody's outcome is looked at, so a new patient is filled in as those of training were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from securefair.config.columns import CategoricalColumn
from securefair.data.dataset import ParticipantData, Samples
from securefair.data.table import TableSpec, feature_names

Array = NDArray[np.float64]

MOST_STEPS, NEAR = 100, 1e-4
"""Of expectation-maximisation, which ends where no mean and no covariance moves further."""
LEAST_VARIANCE = 1e-6
"""Added to each feature's, so that levels of a column, which add up, leave a solvable system."""


class Relations(NamedTuple):
    """How a hospital's features hang together; it tells of its patients.

    Attributes:
        mean: (d,).
        covariance: (d, d); of features that say what is missing nothing.
    """

    mean: Array
    covariance: Array

    def stored(self) -> dict[str, list[float]]:
        """As a record holds it, beside what a hospital adds to predictors."""
        return {MEAN: self.mean.tolist(), COVARIANCE: self.covariance.ravel().tolist()}


MEAN, COVARIANCE = "filled_mean", "filled_covariance"


def restored(part: Mapping[str, Sequence[float]]) -> Relations:
    """The inverse of `Relations.stored`."""
    mean = np.array(part[MEAN])
    return Relations(mean, np.array(part[COVARIANCE]).reshape(len(mean), len(mean)))


def gaps(spec: TableSpec, features: Array) -> NDArray[np.bool_]:
    """Which features (B, d) are of missing values, (B, d), by the features that say so."""
    found, at = np.zeros(features.shape, dtype=bool), 0
    for rule in spec.columns:
        width = len(feature_names(rule))
        if rule.optional:
            last = at + width - 1
            found[:, at:last] = features[:, last:][:, :1] > 0
        at += width
    return found


def relations_of(spec: TableSpec, features: Array) -> Relations:
    """Of training patients, at least one; what stands where values are missing does not count."""
    gone, values = gaps(spec, features), _valued(spec)
    known = np.where(gone, np.nan, features.astype(np.float64))
    counts = np.maximum((~gone).sum(axis=0), 1)
    mean = np.nansum(known, axis=0) / counts
    variance = np.nansum((known - mean) ** 2, axis=0) / counts * values
    found = Relations(mean, np.diag(variance + LEAST_VARIANCE))
    for _ in range(MOST_STEPS):
        before, found = found, _shrunk(*_expected(spec, found, features, gone), values)
        if all(np.abs(one - other).max() < NEAR for one, other in zip(found, before, strict=True)):
            break
    return found


def filled(spec: TableSpec, features: Array, relations: Relations) -> Array:
    """Features (B, d) with likely values where they are missing: measurements within [-1, 1], and
    levels within [0, 1]."""
    return _expected(spec, relations, features, gaps(spec, features))[0]


def filled_by(part: Mapping[str, Sequence[float]], spec: TableSpec, features: Array) -> Array:
    """New patients' features (B, d), filled in by what a record holds, where the rules say so."""
    return filled(spec, features, restored(part)) if spec.fill else features


def completed(own: ParticipantData, spec: TableSpec | None) -> ParticipantData:
    """One participant's data with missing values filled in by the relations of its training
    samples, where the rules say so.

    Args:
        own: encoded by the rules.
        spec: the rules of its table, own columns included; None where samples are numbers.
    """
    if spec is None or not spec.fill:
        return own
    relations = relations_of(spec, own.train.features)

    def of(samples: Samples) -> Samples:
        return replace(samples, features=filled(spec, samples.features, relations))

    return replace(
        own,
        train=of(own.train),
        test=of(own.test),
        validation=None if own.validation is None else of(own.validation),
    )


def _valued(spec: TableSpec) -> Array:
    """(d,): 0 of features that say that a value is missing, else 1."""
    return np.concatenate(
        [
            np.append(np.ones(len(names) - 1), float(not rule.optional))
            for rule in spec.columns
            if (names := feature_names(rule))
        ]
    )


def _expected(
    spec: TableSpec, relations: Relations, features: Array, gone: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Features with the means of what is gone, and the summed covariances of what is left open."""
    lowest = np.concatenate(
        [
            np.full(len(feature_names(rule)), 0.0 if isinstance(rule, CategoricalColumn) else -1.0)
            for rule in spec.columns
        ]
    )
    mean, covariance = relations
    found, left = features.astype(np.float64), np.zeros_like(covariance)
    patterns, which = np.unique(gone, axis=0, return_inverse=True)
    for at, pattern in enumerate(patterns):
        if not pattern.any():
            continue
        rows, known = np.flatnonzero(which.ravel() == at), ~pattern
        across = covariance[np.ix_(known, pattern)]
        slopes = np.linalg.solve(covariance[np.ix_(known, known)], across)
        likely = mean[pattern] + (found[np.ix_(rows, known)] - mean[known]) @ slopes
        found[np.ix_(rows, pattern)] = np.clip(likely, lowest[pattern], 1.0)
        open_to = covariance[np.ix_(pattern, pattern)] - across.T @ slopes
        left[np.ix_(pattern, pattern)] += len(rows) * open_to
    return found, left


def _shrunk(features: Array, left: Array, values: Array) -> Relations:
    """The most likely mean and covariance, correlations shrunk."""
    (patients, width), mean = features.shape, features.mean(axis=0)
    apart = (features - mean) * values
    likely = (apart.T @ apart + left) / patients
    covariance = likely * patients / (patients + width)
    np.fill_diagonal(covariance, np.diagonal(likely) + LEAST_VARIANCE)
    return Relations(mean, covariance)
