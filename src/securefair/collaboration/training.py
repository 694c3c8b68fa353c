"""How everyone trains, as a configuration says it."""

from __future__ import annotations

from securefair.config import TrainingSection
from securefair.model.optimizer import OptimizerConfig


def optimizer_of(training: TrainingSection) -> OptimizerConfig:
    """Of every step."""
    return OptimizerConfig(
        learning_rate=training.learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )
