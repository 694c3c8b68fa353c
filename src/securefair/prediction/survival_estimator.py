"""`TransferSurvival`: Cox's model of one hospital, over its peers' answers if it has any."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from securefair.errors import DataError
from securefair.model.outcomes import time as times
from securefair.model.outcomes.survival import check_followed, survival
from securefair.prediction.estimator_input import (
    checked_weights,
    numbers_of,
    refuse_rows,
    two_columns,
)
from securefair.prediction.outcome_estimators import OutcomeEstimator

Array = NDArray[np.float64]


class TransferSurvival(OutcomeEstimator):
    """For the time to an event: Cox's model, with a baseline of the hospital's own patients.

    Args:
        peers: as `TransferRegressor` takes them.
        degree, folds, trees, random_state: as of `TransferClassifier`.
    """

    def fit(
        self,
        X: ArrayLike,
        time: ArrayLike,
        event: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to one's own patients.

        Args:
            X: (n, d).
            time: (n,) above 0, until the event or until nobody knows more; or both as (n, 2), time
                and event, or as a structured array of a boolean and a number.
            event: (n,), 1 or True where the event came, 0 or False where it was not seen; None
                where `time` holds it.
            sample_weight: see `TransferClassifier.fit`; whole numbers, as ties are counted.

        Raises:
            ConfigError: see `TransferClassifier.fit`.
            DataError: a time is not above 0, events have other codes, or there is none; names the
                row.
        """
        values = self._values(time, event)
        features, _ = validate_data(self, X, values[:, 0], dtype=np.float64, y_numeric=True)
        if not values[:, 1].any():
            raise DataError(
                "nobody had the event: there is no time to predict", expected="one event or more"
            )
        weights = checked_weights(sample_weight, len(features))
        refuse_rows(weights, weights != np.rint(weights), "a weight of a time is how many have it")
        self._learn(features, times.OUTCOME.name, values[:, 1] > 0, values, sample_weight)
        return self

    def score(
        self,
        X: ArrayLike,
        time: ArrayLike,
        event: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Harrell's concordance: how often who is said to be at higher risk has the event first.

        0.5 is chance, 1 the best; NaN where no pair of patients can be compared.

        Args:
            X, time, event, sample_weight: as of `fit`; `cross_val_score` takes both as (n, 2).

        Raises:
            DataError: as of `fit`.
        """
        check_is_fitted(self)
        values = self._values(time, event)
        return self._scored(X, times.OUTCOME, "concordance", values, sample_weight)

    @staticmethod
    def _values(time: ArrayLike, event: ArrayLike | None) -> Array:
        """Times and events, (n, 2)."""
        values = two_columns(time, event, "event")
        seen, came = values.T
        refuse_rows(seen, ~(np.isfinite(seen) & (seen > 0)), "a time to an event is above 0")
        refuse_rows(came, ~np.isin(came, (0.0, 1.0)), "an event is 1 where it came and 0 elsewhere")
        return values

    def predict(self, X: ArrayLike) -> Array:
        """The log of each patient's hazard against that of predictor 0, (B,); higher is worse."""
        return self.predictor(X)

    def predict_survival(self, X: ArrayLike, horizons: ArrayLike) -> Array:
        """The probability of no event until each horizon, (B, H), by Breslow's own baseline.

        Args:
            X: (B, d).
            horizons: (H,) times from 0, in the unit of the times of training.

        Raises:
            DataError: a horizon is no time, or below 0.
            ConfigError: no patient in training was followed until a horizon.
        """
        check_is_fitted(self)
        at = np.atleast_1d(numbers_of(horizons, "horizons"))
        refuse_rows(at, ~(np.isfinite(at) & (at >= 0)), "a horizon is a time from 0", "horizon")
        check_followed(self.own_, at)
        return survival(self.predictor(X)[:, None], self.own_, at)
