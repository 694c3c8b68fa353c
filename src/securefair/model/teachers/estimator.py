"""An estimator of scikit-learn, or anything with its methods, to teach. From code only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Probabilities, Samples
from securefair.errors import ConfigError, ModelError


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorTeacher:
    """See `TeacherModel`. One that is not fitted is fitted to the hospital's own patients.

    Args:
        estimator: a classifier with `predict_proba`. A fitted one takes features as they are
            encrypted, in [-1, 1], and knows all classes, in their order.

    Raises:
        ConfigError: it gives no probabilities.
    """

    estimator: Any

    def __post_init__(self) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            raise ConfigError(
                "this is no model that may teach",
                found=type(self.estimator).__name__,
                expected="a classifier with predict_proba, a name or a path",
            )

    @property
    def name(self) -> str:
        """See `TeacherModel`."""
        return type(self.estimator).__name__

    def ready(self, train: Samples, seed: int) -> Probabilities:
        """See `TeacherModel`."""
        estimator = self._fitted(train, seed)
        classes = getattr(estimator, "classes_", np.arange(train.classes))

        def said(features: NDArray[np.float64]) -> NDArray[np.float64]:
            found = np.asarray(estimator.predict_proba(features), dtype=np.float64)
            if found.ndim != 2 or found.shape[1] != train.classes or len(classes) != train.classes:
                raise ModelError(
                    "the model that is to teach knows other classes",
                    found=found.shape,
                    expected=f"({len(features)}, {train.classes})",
                )
            return found

        return said

    def _fitted(self, train: Samples, seed: int) -> Any:
        from sklearn.base import clone
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            return _seeded(clone(self.estimator), seed).fit(train.features, train.labels)
        except TypeError:  # none of scikit-learn's: it is what it is
            return self.estimator
        return self.estimator


def _seeded(estimator: Any, seed: int) -> Any:
    """With a seed wherever it or a part of it has none: a process that goes on fits the same."""
    empty = [
        key
        for key, value in estimator.get_params(deep=True).items()
        if key.endswith("random_state") and value is None
    ]
    return estimator.set_params(**dict.fromkeys(empty, seed))
