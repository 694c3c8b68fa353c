"""Two classes: one logit, of class 1 against class 0, and the logistic loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from securefair.data.dataset import Samples
from securefair.model.outcomes.class_pictures import class_pictures
from securefair.model.outcomes.likelihood import SeparateLikelihood
from securefair.model.outcomes.of_classes import OfClasses
from securefair.model.outcomes.pictures import Shown
from securefair.model.probabilities import log_losses
from securefair.records import Picture

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Logistic(SeparateLikelihood):
    labels: NDArray[np.int64]

    def each(self, predictors: Array) -> Array:
        return log_losses(predictors, self.labels)

    def bends(self, predictors: Array) -> tuple[Array, Array]:
        p = expit(predictors)
        return p - self.labels, p * (1 - p)


class TwoClasses(OfClasses):
    """See the module."""

    name: ClassVar = "two_classes"
    title: ClassVar = "one of two classes"
    effect: ClassVar = "odds_ratio"
    on_ward: ClassVar = ("accuracy", "sensitivity", "specificity")

    def page_pictures(self, shown: Shown) -> list[Picture]:
        """See `StudyOutcome`: who is told apart, what comes true, and what acting is worth."""
        return class_pictures(shown.said[:, 1], shown.samples.labels)

    def likelihood(self, samples: Samples) -> _Logistic:
        """See `StudyOutcome`."""
        return _Logistic(samples.labels)


OUTCOME = TwoClasses()
