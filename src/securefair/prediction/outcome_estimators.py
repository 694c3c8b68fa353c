"""Siblings of `TransferClassifier` for outcomes that are no classes.

A regularised fit, moved towards its peers as far as own patients agree. Peers say the
linear predictor of their fits (`predictor`) of the very patients that `fit` gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from securefair.data.dataset import Samples
from securefair.errors import ConfigError
from securefair.model.outcomes import OwnPart, StudyOutcome
from securefair.model.outcomes import count as counts
from securefair.model.outcomes import number as numbers
from securefair.model.stored import own_part_of
from securefair.prediction.estimator_input import (
    check_settings,
    checked_weights,
    numbers_of,
    refuse_rows,
    two_columns,
)
from securefair.prediction.transfer_estimator import TransferEstimator

Array = NDArray[np.float64]


class OutcomeEstimator(TransferEstimator):
    """What these estimators share.

    Features are taken as they are: scale them by constants that everybody knows.

    Args:
        peers: the peers' predictors of the patients that `fit` gets, in their order: by name, each
            (n,), which are then weighed one by one, or their mean alone. None: no peers.
        degree: 1 for linear predictors, 2 for quadratic ones.
        folds: of the cross-validation.
        trees: average small trees with the linear fits, where the outcome takes them (rates and
            times); without them a model of degree 1 is linear and has `coef_`.
        random_state: seed of the folds.

    Attributes:
        trust_: what the peers were worth (`model.transfer.PeerWeight`).
        model_: the deployed function; private.
        own_: what the hospital adds from its own patients, such as a baseline; private.
    """

    def predictor(self, X: ArrayLike) -> Array:
        """The linear predictor of each patient, (B,): what a teacher answers with."""
        check_is_fitted(self)
        features: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return self.model_.logits(features)[:, 0]

    @property
    def coef_(self) -> Array:
        """Of the predictor, (d,).

        Raises:
            AttributeError: the model is not linear, so that it has none.
        """
        slopes: Array = self._linear().linear[0]
        return slopes

    @property
    def intercept_(self) -> float:
        """Of the predictor.

        Raises:
            AttributeError: as `coef_`.
        """
        return float(self._linear().constant[0])

    def _scored(
        self,
        X: ArrayLike,
        outcome: StudyOutcome,
        score: str,
        values: Array,
        sample_weight: ArrayLike | None,
    ) -> float:
        """One of the outcome's scores of these patients."""
        features = validate_data(self, X, values[:, 0], dtype=np.float64, reset=False)[0]
        weights = checked_weights(sample_weight, len(features))
        strata = np.zeros(len(features), dtype=np.int64)
        samples = Samples(features, strata, 2, outcome=outcome.name, values=values)
        said = outcome.said(self.predictor(features)[:, None], self.own_)
        return float(outcome.weighted_scores(said, samples, weights[None])[score][0])

    def _learn(
        self,
        features: Array,
        outcome: str,
        strata: NDArray[np.bool_],
        values: Array,
        sample_weight: ArrayLike | None,
    ) -> None:
        check_settings(self.degree, self.folds, trees=self.trees)
        weights = checked_weights(sample_weight, len(features))
        counted = weights > 0
        features = features[counted]
        samples = Samples(
            features,
            strata[counted].astype(np.int64),
            2,
            weights=weights[counted],
            outcome=outcome,
            values=values[counted],
        )
        found = self._transfer(samples, counted)
        self.own_: OwnPart = own_part_of(found.model, samples)


class TransferRegressor(RegressorMixin, OutcomeEstimator):  # type: ignore[misc]
    """For a number that lies in a range which everybody knows.

    Args:
        low, high: the range, in the unit of the values, the same at every hospital. Predictors are
            in units of half the range around its middle. Values beyond are taken as they are.
        peers: the peers' predictors of the patients that `fit` gets, in their order: by name, each
            (n,), which are then weighed one by one, or their mean alone. None: no peers.
        degree, folds, trees, random_state: as of `TransferClassifier`.
    """

    def __init__(
        self,
        peers: Mapping[str, ArrayLike] | ArrayLike | None = None,
        *,
        low: float = -1.0,
        high: float = 1.0,
        degree: Literal[1, 2] = 1,
        folds: int = 5,
        trees: bool = True,
        random_state: int = 0,
    ) -> None:
        super().__init__(peers, degree=degree, folds=folds, trees=trees, random_state=random_state)
        self.low = low
        self.high = high

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to one's own patients.

        Args:
            X: (n, d).
            y: (n,) numbers.
            sample_weight: see `TransferClassifier.fit`.

        Raises:
            ConfigError: the range is none, or see `TransferClassifier.fit`.
            ValueError: as scikit-learn's estimators.
        """
        if not self.low < self.high:
            raise ConfigError(
                "not a range", where="low", found=self.low, expected=f"less than {self.high}"
            )
        features, values = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        scaled = (numbers_of(values, "y") - self._middle) / self._half
        counted = checked_weights(sample_weight, len(features)) > 0
        strata = scaled > np.median(scaled[counted])
        self._learn(features, numbers.OUTCOME.name, strata, scaled[:, None], sample_weight)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The expected number of each patient, (B,)."""
        return self._middle + self._half * self.predictor(X)

    def predict_interval(self, X: ArrayLike) -> Array:
        """Low and high end of a 95 % interval of each patient's number, (B, 2).

        Its width follows from residuals of training patients: with few of them it is too narrow.
        """
        means = self.predict(X)
        reach = 1.959964 * self._half * self.own_["scale"][0]
        return np.column_stack([means - reach, means + reach])

    @property
    def _middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def _half(self) -> float:
        return (self.high - self.low) / 2


class TransferRate(OutcomeEstimator):
    """For counts of events over an exposure, such as admissions over years.

    Args:
        peers: as `TransferRegressor` takes them.
        degree, folds, trees, random_state: as of `TransferClassifier`.
    """

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        exposure: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to one's own patients.

        Args:
            X: (n, d).
            y: (n,) whole numbers from 0; or (n, 2), counts and exposures.
            exposure: (n,) above 0; None: 1 for everybody.
            sample_weight: see `TransferClassifier.fit`.

        Raises:
            ConfigError: see `TransferClassifier.fit`.
            DataError: counts are not whole, or an exposure is not above 0; names the row.
        """
        values = self._values(y, exposure)
        features, _ = validate_data(self, X, values[:, 0], dtype=np.float64, y_numeric=True)
        self._learn(features, counts.OUTCOME.name, values[:, 0] > 0, values, sample_weight)
        self._over_one = bool((values[:, 1] == 1).all())
        return self

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        exposure: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The share of the deviance of one rate for all that is explained, at most 1.

        0 for the best single rate; NaN where nothing happened, or everybody has one rate.

        Args:
            X, y, exposure, sample_weight: as of `fit`. Where exposures came with `fit` they come
                here too: `cross_val_score` takes them as the second column of y.

        Raises:
            ConfigError: exposures came with `fit` and are missing here.
            DataError: as of `fit`.
        """
        check_is_fitted(self)
        values = self._values(y, exposure)
        if exposure is None and np.ndim(y) == 1 and not self._over_one:
            raise ConfigError(
                "this model was fitted with exposures, so that a score needs them",
                where="exposure",
                hint="Give y as (n, 2): counts and exposures, such as for cross_val_score",
            )
        return self._scored(X, counts.OUTCOME, "explained_deviance", values, sample_weight)

    @staticmethod
    def _values(y: ArrayLike, exposure: ArrayLike | None) -> Array:
        """Counts and exposures, (n, 2)."""
        values = two_columns(y, exposure, "exposure", optional=True)
        seen, over = values.T
        refuse_rows(
            seen,
            ~np.isfinite(seen) | (seen < 0) | (seen != np.rint(seen)),
            "a count is a whole number from 0",
        )
        refuse_rows(over, ~(np.isfinite(over) & (over > 0)), "an exposure is above 0")
        return values

    def predict(self, X: ArrayLike) -> Array:
        """Expected counts over one unit of exposure, (B,)."""
        return counts.OUTCOME.said(self.predictor(X)[:, None], self.own_)[:, 0]
