"""[model] and [training]: what everyone trains, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Section, contradiction


class ModelSection(Section):
    """[model]: the model that every participant trains; encrypted inference evaluates it."""

    kind: Literal["quadratic", "linear", "network"] = Field(
        default=defaults.MODEL_KIND,
        description="linear - square - linear, a single linear layer, or a whole network on pixels",
    )
    network: Literal["digits-8", "digits-28"] | None = Field(
        default=None,
        description="Which network (network only): convolutions for grey images of so many pixels "
        "a side",
    )
    hidden: int = Field(
        default=defaults.HIDDEN,
        ge=1,
        le=4096,
        description="Width of the hidden layer (quadratic only)",
    )
    range_penalty: float = Field(
        default=defaults.RANGE_PENALTY,
        ge=0,
        description="What training pays for values that leave the range of a network's squares "
        "(network only)",
    )
    weight_bits: int = Field(
        default=defaults.WEIGHT_BITS,
        ge=4,
        le=14,
        description="Bits of a weight when the model meets ciphertexts",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_layer(cls, table: object) -> object:
        given = table if isinstance(table, Mapping) else {}
        hidden = given.get("hidden")
        if isinstance(hidden, list | tuple):
            widths = [width for width in hidden if isinstance(width, int)]
            raise contradiction(
                "hidden",
                "a configuration plans encryption for one hidden layer, or for a network by its "
                "name; Student and Teacher take more layers in Python: he_network makes them, "
                "NetworkHead a head of them (docs/networks.md)",
                found=hidden,
                expected="no such key: the network's name says its layers"
                if given.get("kind") == "network"
                else f"one width, such as hidden = {max(widths, default=defaults.HIDDEN)}",
            )
        return table

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.kind == "network") != (self.network is not None):
            raise contradiction(
                "network",
                "a network needs a name"
                if self.kind == "network"
                else f"a {self.kind} head is no network",
                found="nothing" if self.network is None else self.network,
                expected='"digits-8" or "digits-28"'
                if self.kind == "network"
                else 'no such key, or kind = "network"',
            )
        return self


class TrainingSection(Section):
    """[training]: full-batch gradient descent with momentum, the same for every algorithm."""

    learning_rate: float = Field(default=defaults.LEARNING_RATE, gt=0, description="Step size")
    momentum: float = Field(
        default=defaults.MOMENTUM, ge=0, lt=1, description="Momentum of the optimiser"
    )
    weight_decay: float = Field(default=defaults.WEIGHT_DECAY, ge=0, description="L2 penalty")
    clip_norm: float = Field(
        default=defaults.CLIP_NORM,
        gt=0,
        description="Largest gradient norm; longer gradients are shortened",
    )
    class_weight: Literal["none", "balanced"] = Field(
        default="none",
        description="Whether classes count by their samples or alike, in everything that trains; "
        "balanced finds more of a rare class, and its probabilities are too high for it",
    )
    local_epochs: int = Field(
        default=defaults.LOCAL_EPOCHS,
        ge=0,
        description="Epochs that everyone trains alone before the first round",
    )
    rounds: int = Field(default=defaults.ROUNDS, ge=1, le=100_000, description="Protocol rounds")
    local_steps: int = Field(
        default=defaults.LOCAL_STEPS, ge=1, description="Optimiser steps in a round"
    )
