"""Transfer as a scikit-learn estimator: a hospital's fit, over its peers' answers if it has any.

Without peers it is the control of every gain: fits with tuned penalties, averaged by how well they
predict held-out patients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from securefair.data.dataset import Samples
from securefair.model.probabilities import probabilities_of
from securefair.prediction.estimator_input import (
    check_settings,
    checked_weights,
    plain_labels,
)
from securefair.prediction.transfer_estimator import TransferEstimator

Array = NDArray[np.float64]


class TransferClassifier(ClassifierMixin, TransferEstimator):  # type: ignore[misc]
    """A hospital's regularised model, moved towards its peers as far as its own patients agree.

    Features are taken as they are: scale them by constants that everybody knows, such as clinical
    ranges to [-1, 1]. Statistics of one hospital's own patients make its penalties mean something
    else than its peers'.

    Args:
        peers: the peers' logits on the very patients that `fit` gets, in their order: by name, each
            (n, L), which are then weighed one by one, or their mean alone, (n, L). L is 1 for two
            classes, in favour of the second one, else the number of classes. None: no peers.
        degree: 1 for linear logits, 2 for quadratic ones.
        folds: of the cross-validation.
        calibrate: divide logits by a temperature, fitted on predictions for held-out patients.
        trees: average small trees with the linear fits, as a run does; without them a model of
            degree 1 is linear and has `coef_`. None are fitted with degree 2.
        random_state: seed of the folds.

    Attributes:
        classes_: the classes, sorted.
        trust_: what the peers were worth (`model.transfer.PeerWeight`).
        model_: the deployed function of the features; private.
        temperature_: that logits are divided by; 1.0 without calibration.
        n_features_in_: of a sample.
    """

    def __init__(
        self,
        peers: Mapping[str, ArrayLike] | ArrayLike | None = None,
        *,
        degree: Literal[1, 2] = 1,
        folds: int = 5,
        calibrate: bool = False,
        trees: bool = True,
        random_state: int = 0,
    ) -> None:
        super().__init__(peers, degree=degree, folds=folds, trees=trees, random_state=random_state)
        self.calibrate = calibrate

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to one's own patients.

        Args:
            X: (n, d).
            y: (n,) classes.
            sample_weight: (n,) from 0; a patient of weight 2 counts as two in fits and in the
                losses that settings are weighed by. None: 1 for everybody.

        Raises:
            ConfigError: answers of peers are not of these patients and classes; a degree, a number
                of folds or another setting that no fit has.
            ValueError: as scikit-learn's estimators.
        """
        check_settings(self.degree, self.folds, calibrate=self.calibrate, trees=self.trees)
        features, labels = validate_data(self, X, y, dtype=np.float64)
        labels = plain_labels(labels)
        check_classification_targets(labels)
        weights = checked_weights(sample_weight, len(features))
        counted = weights > 0
        features, labels = features[counted], labels[counted]
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("the patients are of one class only: 1 class is nothing to tell apart")
        samples = Samples(
            features, numbers.astype(np.int64), len(self.classes_), weights=weights[counted]
        )
        found = self._transfer(samples, counted)
        self.temperature_ = found.temperature if self.calibrate else 1.0
        return self

    @property
    def coef_(self) -> Array:
        """Of the logits, (1, d) for two classes, in favour of the second one, else (M, d).

        Raises:
            AttributeError: the model is not linear, so that it has none.
        """
        linear: Array = self._linear().linear / self.temperature_
        return linear

    @property
    def intercept_(self) -> Array:
        """Of the logits, (1,) for two classes, else (M,).

        Raises:
            AttributeError: as `coef_`.
        """
        constant: Array = self._linear().constant / self.temperature_
        return constant

    def decision_function(self, X: ArrayLike) -> Array:
        """Logits: (B,) for two classes, in favour of the second one, else (B, M)."""
        logits = self._logits(X)
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities (B, M), in the order of `classes_`."""
        return probabilities_of(self._logits(X))

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of the probabilities (B, M), exact also where these round to 0."""
        logits = self._logits(X)
        if logits.shape[1] == 1:
            logits = np.hstack([np.zeros_like(logits), logits])
        found: Array = log_softmax(logits, axis=1)
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each patient, (B,)."""
        chosen = self.predict_proba(X).argmax(axis=1)
        result: NDArray[Any] = self.classes_[chosen]
        return result

    def _logits(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        features: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return self.model_.logits(features) / self.temperature_
