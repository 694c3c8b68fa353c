"""What outcomes have in common that tell classes apart: probabilities, and their scores."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.data.dataset import Samples
from securefair.data.known import Known
from securefair.model.outcomes.calibration import temperature
from securefair.model.outcomes.class_scores import (
    LEAST_PROBABILITY,
    LOWER_IS_BETTER,
    SCORES,
    check_predictions,
    count_patients,
    nearly_constant,
    probabilistic_scores,
    weighted_scores,
)
from securefair.model.outcomes.interface import Frame, OwnPart, StudyOutcome
from securefair.model.prevalence import PRIOR, own_prevalence
from securefair.model.probabilities import log_losses, probabilities_of

Array = NDArray[np.float64]


class OfClasses(StudyOutcome):
    """Labels that are numbers of classes; what is said is a probability of each."""

    scores: ClassVar = SCORES
    lower_is_better: ClassVar = LOWER_IS_BETTER
    metric: ClassVar = defaults.METRIC
    described_by: ClassVar = frozenset({"calibration_error"})  # who says the same of all has none
    shown: ClassVar = ("auc", "log_loss", "brier")
    headline: ClassVar = "accuracy"
    as_shares: ClassVar = frozenset({"accuracy", "sensitivity", "specificity"})
    tells_classes: ClassVar = True
    curvature: ClassVar = 0.25

    def losses(self, predictors: Array, samples: Samples) -> Array:
        """See `StudyOutcome`: log-loss."""
        return log_losses(predictors, samples.labels)

    def temperature(self, unseen: Array, samples: Samples) -> float:
        """See `StudyOutcome`."""
        return temperature(unseen, samples.labels, samples.weights)

    def drawn(self, predictors: Array, rng: np.random.Generator) -> Known:
        """See `StudyOutcome`."""
        p = probabilities_of(predictors)
        labels = (rng.random((len(p), 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
        return Known(labels.astype(np.int64), p.shape[1])

    def said(self, predictors: Array, own: OwnPart) -> Array:
        """See `StudyOutcome`: probabilities."""
        del own
        return probabilities_of(predictors)

    def told(self, said: Array, frame: Frame) -> dict[str, Array]:
        """See `StudyOutcome`: a probability of each class."""
        self.refuse_horizons(frame)
        return {f"probability_{name}": said[:, at] for at, name in enumerate(frame.classes)}

    def predictors(self, said: Array) -> Array | None:
        """See `StudyOutcome`: of two classes the logit of the second one."""
        if said.shape[1] != 2:
            return None
        logits = _logits(said)
        return logits[:, 1:] - logits[:, :1]

    def recalibrated(self, said: Array, samples: Samples) -> Array:
        """See `StudyOutcome`: mean probabilities are the frequencies of classes.

        Where a class is absent, its probability would have to be 0 and its logit infinite: there
        half a patient is added to each class, and mean probabilities are the frequencies of these.
        """
        every = len(np.unique(samples.labels)) == said.shape[1]
        prior = 0.0 if every else PRIOR
        return probabilities_of(own_prevalence(_logits(said), samples.labels, prior=prior))

    def benefits(
        self, said: Array, samples: Samples, threshold: float
    ) -> tuple[Array, Array] | None:
        """See `StudyOutcome`: of two classes the second one is treated."""
        if said.shape[1] != 2:
            return None
        gained = np.where(samples.labels == 1, 1.0, -threshold / (1 - threshold))
        return np.where(said[:, 1] >= threshold, gained, 0.0), gained

    def weighted_scores(self, said: Array, samples: Samples, weights: Array) -> dict[str, Array]:
        """See `StudyOutcome`."""
        return weighted_scores(said, samples.labels, weights)

    def check_said(self, said: Array, samples: Samples) -> None:
        """See `StudyOutcome`."""
        check_predictions(said, samples.labels)

    def point_scores(self, said: Array, samples: Samples) -> dict[str, float | None]:
        """See `StudyOutcome`."""
        return probabilistic_scores(said, samples.labels)

    def shares(self, samples: Samples) -> dict[str, int]:
        """See `StudyOutcome`."""
        one = np.unique(np.stack([samples.who, samples.labels]), axis=1)[1]  # a row of a class each
        counts = count_patients(one, samples.classes)
        return counts | {"accuracy": samples.people} if counts else counts

    def confusion(self, said: Array, samples: Samples) -> NDArray[np.int64]:
        """See `StudyOutcome`."""
        size = said.shape[1]
        pairs = samples.labels * size + said.argmax(axis=1)
        return np.bincount(pairs, minlength=size * size).reshape(size, size)

    def constant(self, said: Array) -> bool:
        """See `StudyOutcome`."""
        return nearly_constant(said)

    def reliability(self, said: Array, samples: Samples) -> tuple[Array, Array]:
        """See `StudyOutcome`: of two classes of the second one, of more of the likeliest."""
        if said.shape[1] == 2:
            return said[:, 1], (samples.labels == 1).astype(np.float64)
        right = said.argmax(axis=1) == samples.labels
        return said.max(axis=1), right.astype(np.float64)


def _logits(said: Array) -> Array:
    result: Array = np.log(np.clip(said, LEAST_PROBABILITY, 1.0))
    return result
