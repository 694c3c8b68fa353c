"""Siblings of `TransferClassifier` for outcomes that are no classes.

A regularised fit, moved towards its peers as far as own patients agree. Peers say the
linear predictor of their fits (`predictor`) of the very patients that `fit` gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError
from securefair.model.outcomes import OwnPart
from securefair.model.outcomes import count as counts
from securefair.model.outcomes import number as numbers
from securefair.model.outcomes import time as times
from securefair.model.outcomes.survival import survival
from securefair.model.stored import own_part_of
from securefair.model.transfer import DRAWS, Fitted, PeerWeight, own_fit
from securefair.prediction.estimator import (
    FeatureEstimates,
    check_settings,
    checked_weights,
    estimates_of_fit,
    linear_model,
    transferred_of,
)

Array = NDArray[np.float64]


class _Transfer(BaseEstimator):  # type: ignore[misc]
    """What these estimators share.

    Features are taken as they are: scale them by constants that everybody knows.

    Args:
        peers: the peers' predictors of the patients that `fit` gets, in their order: by name, each
            (n,), which are then weighed one by one, or their mean alone. None: no peers.
        degree: 1 for linear predictors, 2 for quadratic ones.
        folds: of the cross-validation.
        random_state: seed of the folds.

    Attributes:
        trust_: what the peers were worth (`model.transfer.PeerWeight`).
        model_: the deployed function; private.
        own_: what the hospital adds from its own patients, such as a baseline; private.
    """

    def __init__(
        self,
        peers: Mapping[str, ArrayLike] | ArrayLike | None = None,
        *,
        degree: Literal[1, 2] = 1,
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        self.peers = peers
        self.degree = degree
        self.folds = folds
        self.random_state = random_state

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
        check_is_fitted(self)
        slopes: Array = linear_model(self.model_).linear[0]
        return slopes

    @property
    def intercept_(self) -> float:
        """Of the predictor.

        Raises:
            AttributeError: as `coef_`.
        """
        check_is_fitted(self)
        return float(linear_model(self.model_).constant[0])

    def estimates(
        self, *, draws: int = DRAWS, random_state: int = 0
    ) -> dict[str, FeatureEstimates]:
        """What a unit of each feature does, alone and together with what peers said.

        A ratio of hazards or of rates, or a difference of numbers in their unit; see
        `TransferClassifier.estimates`.

        Args:
            draws: of the bootstrap.
            random_state: seed of the draws.

        Raises:
            AttributeError: nothing linear was fitted.
        """
        check_is_fitted(self)
        return estimates_of_fit(self._samples, self._families, draws, random_state, self._half)

    @property
    def _half(self) -> float:
        return 1.0

    def _learn(
        self,
        features: Array,
        outcome: str,
        strata: NDArray[np.bool_],
        values: Array,
        sample_weight: ArrayLike | None,
    ) -> None:
        check_settings(self.degree, self.folds)
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
        rng = np.random.default_rng(self.random_state)
        own = own_fit(samples, self.degree, rng=rng, folds=self.folds)
        found = transferred_of(own, self.peers, self.degree, counted)
        self.model_: Fitted = found.model
        self.trust_: PeerWeight = found.trust
        self._samples, self._families = samples, found.families
        self.own_: OwnPart = own_part_of(found.model, samples)


class TransferRegressor(RegressorMixin, _Transfer):  # type: ignore[misc]
    """For a number that lies in a range which everybody knows.

    Args:
        low, high: the range, in the unit of the values, the same at every hospital. Predictors are
            in units of half the range around its middle. Values beyond are taken as they are.
        peers: the peers' predictors of the patients that `fit` gets, in their order: by name, each
            (n,), which are then weighed one by one, or their mean alone. None: no peers.
        degree, folds, random_state: as of `TransferClassifier`.
    """

    def __init__(
        self,
        peers: Mapping[str, ArrayLike] | ArrayLike | None = None,
        *,
        low: float = -1.0,
        high: float = 1.0,
        degree: Literal[1, 2] = 1,
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        super().__init__(peers, degree=degree, folds=folds, random_state=random_state)
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
        scaled = (np.asarray(values, dtype=np.float64) - self._middle) / self._half
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


class TransferRate(_Transfer):
    """For counts of events over an exposure, such as admissions over years.

    Args:
        peers: as `TransferRegressor` takes them.
        degree, folds, random_state: as of `TransferClassifier`.
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
            y: (n,) whole numbers from 0.
            exposure: (n,) above 0; None: 1 for everybody.
            sample_weight: see `TransferClassifier.fit`.

        Raises:
            ConfigError: see `TransferClassifier.fit`.
            DataError: counts are not whole, or an exposure is not above 0; names the row.
        """
        features, seen = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        seen = np.asarray(seen, dtype=np.float64)
        over = np.ones(len(seen)) if exposure is None else np.asarray(exposure, dtype=np.float64)
        _refuse(seen, (seen < 0) | (seen != np.rint(seen)), "a count is a whole number from 0")
        _check_length(over, seen, "exposure")
        _refuse(over, ~(np.isfinite(over) & (over > 0)), "an exposure is above 0")
        values = np.column_stack([seen, over])
        self._learn(features, counts.OUTCOME.name, seen > 0, values, sample_weight)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Expected counts over one unit of exposure, (B,)."""
        return counts.OUTCOME.said(self.predictor(X)[:, None], self.own_)[:, 0]


class TransferSurvival(_Transfer):
    """For the time to an event: Cox's model, with a baseline of the hospital's own patients.

    Args:
        peers: as `TransferRegressor` takes them.
        degree, folds, random_state: as of `TransferClassifier`.
    """

    def fit(
        self,
        X: ArrayLike,
        time: ArrayLike,
        event: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to one's own patients.

        Args:
            X: (n, d).
            time: (n,) above 0, until the event or until nobody knows more.
            event: (n,), 1 or True where the event came, 0 or False where it was not seen.
            sample_weight: see `TransferClassifier.fit`; whole numbers, as ties are counted.

        Raises:
            ConfigError: see `TransferClassifier.fit`.
            DataError: a time is not above 0, events have other codes, or there is none; names the
                row.
        """
        features, seen = validate_data(self, X, time, dtype=np.float64, y_numeric=True)
        seen = np.asarray(seen, dtype=np.float64)
        came = np.asarray(event, dtype=np.float64)
        _check_length(came, seen, "event")
        _refuse(seen, ~(seen > 0), "a time to an event is above 0")
        _refuse(came, ~np.isin(came, (0.0, 1.0)), "an event is 1 where it came and 0 elsewhere")
        if not came.any():
            raise DataError(
                "nobody had the event: there is no time to predict", expected="one event or more"
            )
        weights = checked_weights(sample_weight, len(features))
        _refuse(weights, weights != np.rint(weights), "a weight of a time is how many have it")
        values = np.column_stack([seen, came])
        self._learn(features, times.OUTCOME.name, came > 0, values, sample_weight)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The log of each patient's hazard against that of predictor 0, (B,); higher is worse."""
        return self.predictor(X)

    def predict_survival(self, X: ArrayLike, horizons: ArrayLike) -> Array:
        """The probability of no event until each horizon, (B, H), by Breslow's own baseline."""
        at = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
        return survival(self.predictor(X)[:, None], self.own_, at)


def _check_length(values: Array, others: Array, name: str) -> None:
    if values.shape != others.shape:
        raise DataError(
            "not one number a patient", where=name, found=values.shape, expected=others.shape
        )


def _refuse(values: Array, wrong: NDArray[np.bool_], what: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(what, where=f"row {row}", found=float(values[row]))
