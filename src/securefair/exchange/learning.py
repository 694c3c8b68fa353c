"""What a student does with a teacher's logits, one function an arrow.

teacher logits -> alignment -> reputation (`ReputationRule`) -> sharing decision
        -> optimiser step
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import softmax

from securefair.config import defaults
from securefair.data.dataset import Samples
from securefair.model.gradients import flat_gradient
from securefair.model.heads import Head
from securefair.model.losses import approximate_kl
from securefair.model.training import (
    TeacherAnswer,
    TrainState,
    distil_steps,
    weighed_cross_entropy,
)
from securefair.worth.alignment import cosine
from securefair.worth.sharing import distillation_weights

Array = NDArray[np.float64]


def predictions(model: Head, samples: Samples, temperature: float) -> Array:
    """p = softmax(u / T) of the student, (B, M)."""
    with torch.no_grad():
        logits = model(torch.from_numpy(samples.features))
        return np.asarray(softmax(logits / temperature, dim=1))


def align(model: Head, samples: Samples, teacher_logits: Array, temperature: float) -> float:
    """Cosine of the cross-entropy and distillation gradients over all parameters."""
    logits = model(torch.from_numpy(samples.features))
    hard = weighed_cross_entropy(logits, samples)
    soft = approximate_kl(logits, torch.from_numpy(teacher_logits), temperature).mean()
    return cosine(flat_gradient(hard, model), flat_gradient(soft, model))


def distillation_loss(
    model: Head, samples: Samples, teacher_logits: Array, temperature: float
) -> float:
    """Approximate KL a sample between the student's model and a teacher's logits."""
    with torch.no_grad():
        logits = model(torch.from_numpy(samples.features))
        loss = approximate_kl(logits, torch.from_numpy(teacher_logits), temperature)
    return float(loss.mean())


def weight_of_round(round: int) -> float:
    """How much the answers of a round count, in (0, 1]: less and less after the first ones.

    A teacher that aims a small part at one patient, again and again, adds up how the student's own
    answers move. What comes late moves them little, so that repeating it tells no more
    (docs/threat-model.md). More rounds than the default overfit anyway.
    """
    return min(1.0, (defaults.ROUNDS / (round + 1)) ** 2)


def learn(
    train_state: TrainState,
    samples: Samples,
    teacher_logits: Mapping[str, Array],
    reputations: Mapping[str, float],
    *,
    participants: int,
    lambda_0: float,
    steps: int,
    temperature: float,
) -> None:
    """Local steps on cross-entropy and the reputation-weighted distillation losses."""
    weights = distillation_weights(reputations, participants)
    answers = [
        TeacherAnswer(logits, lambda_0 * weights[peer]) for peer, logits in teacher_logits.items()
    ]
    distil_steps(train_state, samples, answers, steps, temperature=temperature)
