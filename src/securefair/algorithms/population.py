"""Who takes part, and the settings that all of them agreed on."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.model.balance import balanced
from securefair.model.heads import Head, HeadKind
from securefair.model.projection import block_signs, public_indices, public_rows, student_basis
from securefair.model.quantize import quantize_at
from securefair.model.training import OptimizerConfig


@dataclass(frozen=True)
class LogitsRelease:
    """The student gets every logit of every of its samples."""


@dataclass(frozen=True, kw_only=True)
class ProjectionRelease:
    """The student gets q weighted sums over its samples, for each class.

    Raises:
        ConfigError: a number is out of range.
    """

    q: int = 64
    basis: Literal["public", "student"] = "public"
    ring_degree: int = 8192  # public basis only
    public_seed: bytes = b"securefair"  # public basis only
    noise_std: float = 0.0  # of each released number, for rows of a student basis of peak 1

    def __post_init__(self) -> None:
        if self.basis not in ("public", "student"):
            raise ConfigError(
                "unknown basis", where="basis", found=self.basis, expected='"public" or "student"'
            )
        if self.basis == "public":
            public_indices(self.ring_degree, self.q, self.public_seed)  # raises if impossible
        if not 0 <= self.noise_std < math.inf:
            raise ConfigError("not a standard deviation", where="noise_std", found=self.noise_std)

    def rows(self, samples: Samples) -> NDArray[np.float64]:
        """The weights of one student's samples in each released number, (q, B).

        Raises:
            ConfigError: a student basis of q rows does not exist for these samples.
        """
        if self.basis == "student":
            return student_basis(samples, self.q)
        blocks = -(-len(samples) // (self.ring_degree // 2))
        return public_rows(
            self.ring_degree,
            public_indices(self.ring_degree, self.q, self.public_seed),
            len(samples),
            block_signs(blocks, self.public_seed),
        )

    def noise(self, rows: NDArray[np.float64]) -> float:
        """Deviation of each released number as the student's reconstruction expects it."""
        return self.noise_std * (float(np.abs(rows).max()) if self.basis == "student" else 1.0)


Release = LogitsRelease | ProjectionRelease


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """How teachers round their weights to integers at public scales, as encryption needs them."""

    row_norm: float  # of every hidden unit after balancing
    log2_scales: tuple[int, ...]  # one a layer

    def logits(self, head: Head, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Features (B, d) -> logits (B, M) of the rounded head.

        Raises:
            ModelError: another number of layers than scales.
        """
        folded = balanced(head.folded(), self.row_norm)
        return quantize_at(folded, self.log2_scales).logits(features)


@dataclass(frozen=True, kw_only=True)
class Population:
    """The participants of a collaboration and its settings (CYCle, section 5 and App. D).

    `alignment_temperature` decides what a reputation means. At 1 the plain cross-entropy is
    compared: where a student fits its own samples well, that gradient is small and of arbitrary
    direction, and reputations become erratic. At T both losses see sigma_T of the logits, as
    CYCle's section 4.1 words it: the labels keep their pull, teachers that contradict them score
    0, and reputations are lower altogether.

    Raises:
        ConfigError: fewer than two participants, two of one name, one whose features or classes
            differ from the others', or a setting out of range.
    """

    participants: tuple[ParticipantData, ...]
    head: HeadKind = "quadratic"
    hidden: int = 16
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    local_epochs: int = 40  # everyone alone, before round 0
    batch_size: int | None = None  # of the local epochs; None: full batches
    local_steps: int = 5  # full-batch optimiser steps in a round
    temperature: float = 5.0  # T of the distillation loss
    alignment_temperature: float = 1.0  # of the cross-entropy that alignment compares with
    lambda_0: float = 50.0  # weight of the distillation loss
    forced_every: int = 5  # R
    release: Release = field(default_factory=ProjectionRelease)
    rounding: Rounding | None = None  # of the teachers' weights; None: as they were trained

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            ("hidden", self.hidden >= 1, "1 or more"),
            ("local_epochs", self.local_epochs >= 0, "0 or more"),
            ("batch_size", self.batch_size is None or self.batch_size >= 1, "1 or more, or None"),
            ("local_steps", self.local_steps >= 1, "1 or more"),
            ("temperature", 0 < self.temperature < math.inf, "above 0"),
            (
                "alignment_temperature",
                0 < self.alignment_temperature < math.inf,
                "above 0",
            ),
            ("lambda_0", 0 <= self.lambda_0 < math.inf, "0 or more"),
            ("forced_every", self.forced_every >= 1, "1 or more rounds"),
            ("participants", len(self.participants) >= 2, "2 or more"),
        ):
            if not accepted:
                value = len(self.participants) if name == "participants" else getattr(self, name)
                raise ConfigError("out of range", where=name, found=value, expected=expected)
        name, times = Counter(self.names).most_common(1)[0]
        if times > 1:
            raise ConfigError("two participants have one name", where="participants", found=name)
        kinds = {
            (part.features.shape[1:], part.classes)
            for participant in self.participants
            for part in (participant.train, participant.test)
        }
        if len(kinds) > 1:
            raise ConfigError(
                "participants disagree about features or classes",
                where="participants",
                found=sorted(f"features {shape}, {classes} classes" for shape, classes in kinds),
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Of all participants, in order; records index their lists by this order."""
        return tuple(participant.name for participant in self.participants)

    def teacher_logits(self, head: Head, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Features (B, d) -> logits (B, M) as a teacher computes them for others."""
        if self.rounding is None:
            return head.logits(features)
        return self.rounding.logits(head, features)

    @property
    def features(self) -> int:
        """Width of a feature vector, d."""
        return int(self.participants[0].train.features.shape[1])

    @property
    def classes(self) -> int:
        """Number of classes, M."""
        return self.participants[0].train.classes
