"""What the estimators of a transfer share: the fit over peers' answers, and what features do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from securefair.data.dataset import Samples
from securefair.data.known import FEWEST_EVENTS
from securefair.model.outcomes import outcome_of
from securefair.model.transfer import (
    DRAWS,
    Family,
    Fitted,
    PeerWeight,
    Polynomial,
    Transferred,
    intervals,
    linear_estimates,
    own_fit,
)
from securefair.prediction.estimator_input import check_draws, transferred_of

Array = NDArray[np.float64]


class FeatureEstimates(NamedTuple):
    """What a unit of each feature does: a ratio, or a difference of numbers.

    Attributes:
        value: (d,).
        interval_90, interval_95: (d, 2), percentiles.
    """

    value: Array
    interval_90: Array
    interval_95: Array


class TransferEstimator(BaseEstimator):  # type: ignore[misc]
    """A fit of one's own patients, moved towards its peers; settings as `TransferClassifier` has.

    Attributes:
        trust_: what the peers were worth (`model.transfer.PeerWeight`).
        model_: the deployed function; private.
    """

    def __init__(
        self,
        peers: Mapping[str, ArrayLike] | ArrayLike | None = None,
        *,
        degree: Literal[1, 2] = 1,
        folds: int = 5,
        trees: bool = True,
        random_state: int = 0,
    ) -> None:
        self.peers = peers
        self.degree = degree
        self.folds = folds
        self.trees = trees
        self.random_state = random_state

    def estimates(
        self, *, draws: int = DRAWS, random_state: int = 0
    ) -> dict[str, FeatureEstimates]:
        """What a unit of each feature does, "alone" and "together" with what peers said.

        A ratio of odds, hazards or rates, or a difference of numbers in their unit. Of the linear
        settings alone, without calibration, by a bootstrap over the patients that `fit` got
        (`model.transfer.estimates`); peers' part stays as it was.

        Args:
            draws: of the bootstrap.
            random_state: seed of the draws.

        Raises:
            AttributeError: nothing linear was fitted, or there are more than two classes.
            ConfigError: fewer than two draws, which have no intervals.
        """
        check_is_fitted(self)
        return estimates_of_fit(self._samples, self._families, draws, random_state, self._half)

    @property
    def _half(self) -> float:
        """Half the range of a number."""
        return 1.0

    def _transfer(self, samples: Samples, counted: NDArray[np.bool_]) -> Transferred:
        """Fit to samples, which are those of the (n,) patients of `fit` that count."""
        rng = np.random.default_rng(self.random_state)
        own = own_fit(samples, self.degree, rng=rng, folds=self.folds, trees=self.trees)
        found = transferred_of(own, self.peers, self.degree, counted)
        self.model_: Fitted = found.model
        self.trust_: PeerWeight = found.trust
        self._samples, self._families = samples, found.families
        return found

    def _linear(self) -> Polynomial:
        """The model, where it has coefficients.

        Raises:
            AttributeError: it is not linear.
        """
        check_is_fitted(self)
        model = self.model_
        if not isinstance(model, Polynomial) or model.square is not None:
            raise AttributeError(
                "only a linear model has coefficients: degree=1 and trees=False; `estimates` has "
                "the ratios of the linear part of any model of degree 1"
            )
        return model


def estimates_of_fit(
    samples: Samples, families: Sequence[Family], draws: int, seed: int, half: float
) -> dict[str, FeatureEstimates]:
    """See `TransferEstimator.estimates`; `half` is half the range of a number."""
    check_draws(draws)
    outcome, few = outcome_of(samples), samples.few_events
    if few is not None:
        raise AttributeError(f"{few} events: estimates need {FEWEST_EVENTS} or more")
    found = linear_estimates(samples, families, np.random.default_rng(seed), draws)
    if found is None or not outcome.effect:
        raise AttributeError("only linear fits of one predictor have estimates: degree=1")
    result = {}
    for name, drawn in (("alone", found.alone), ("together", found.together)):
        values = outcome.effect_of(drawn[:, 0], half)
        ends = intervals(values)
        result[name] = FeatureEstimates(values[0], ends[:, 0], ends[:, 1])
    return result
