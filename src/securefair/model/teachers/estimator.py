"""An estimator of scikit-learn, or anything with its methods, to teach. From code only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Probabilities, Samples
from securefair.errors import ConfigError, ModelError, SecureFairError
from securefair.model.usual import estimated


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorTeacher:
    """See `TeacherModel`. One that is not fitted is fitted to the hospital's own patients.

    Where these are of one class only, it gives the class frequencies (`usual.estimated`).

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
        """See `TeacherModel`.

        Raises:
            ModelError: it cannot be fitted to these patients.
        """
        if self._fitted:
            says = self._as_it_is(train.classes)
        else:
            with _foreign("the model that is to teach cannot be fitted to these patients", train):
                says = estimated(self._fit, train, seed).probabilities

        def said(features: NDArray[np.float64]) -> NDArray[np.float64]:
            with _foreign("the model that is to teach does not take these patients", train):
                return says(features)

        return said

    def _as_it_is(self, classes: int) -> Probabilities:
        known = getattr(self.estimator, "classes_", np.arange(classes))

        def said(features: NDArray[np.float64]) -> NDArray[np.float64]:
            found = np.asarray(self.estimator.predict_proba(features), dtype=np.float64)
            if found.ndim != 2 or found.shape[1] != classes or len(known) != classes:
                raise ModelError(
                    "the model that is to teach knows other classes",
                    found=found.shape,
                    expected=f"({len(features)}, {classes})",
                )
            return found

        return said

    @property
    def _fitted(self) -> bool:
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(self.estimator)
        except NotFittedError:
            return False
        except TypeError:  # none of scikit-learn's: it is what it is
            return True
        return True

    def _fit(self, train: Samples, seed: int) -> Any:
        from sklearn.base import clone

        return _seeded(clone(self.estimator), seed).fit(train.features, train.labels)


@contextmanager
def _foreign(problem: str, train: Samples) -> Iterator[None]:
    """Whatever foreign code raises is its own fault."""
    try:
        yield
    except SecureFairError:
        raise
    except Exception as error:
        raise ModelError(
            problem,
            found=f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}",
            expected=f"{train.features.shape[1]} features, {train.classes} classes",
            hint="Bring a model of these features and classes, or one that is not fitted",
        ) from error


def _seeded(estimator: Any, seed: int) -> Any:
    """With a seed wherever it or a part of it has none: a process that goes on fits the same."""
    empty = [
        key
        for key, value in estimator.get_params(deep=True).items()
        if key.endswith("random_state") and value is None
    ]
    return estimator.set_params(**dict.fromkeys(empty, seed))
