"""How everyone trains, as a configuration says it."""

from __future__ import annotations

from securefair.config import RunConfig
from securefair.model.plausibility import Clip
from securefair.model.training import OptimizerConfig


def optimizer_of(config: RunConfig) -> OptimizerConfig:
    """Of every step."""
    training = config.training
    return OptimizerConfig(
        learning_rate=training.learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )


def clip_of(config: RunConfig) -> Clip:
    """The most that an opened answer may say."""
    return Clip(sample=config.distillation.sample_clip, answer=config.distillation.answer_clip)
