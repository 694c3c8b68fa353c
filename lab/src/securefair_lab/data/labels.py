"""Wrong labels on purpose: flipped at a rate, or renamed by a permutation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from securefair.data import Samples
from securefair.errors import ConfigError


def flip_labels(samples: Samples, rate: float, rng: np.random.Generator) -> Samples:
    """A share of the samples, chosen at random, gets another class, drawn from all others alike.

    At rate 1 no label is right (CYCle, Tables 3 and 11).

    Args:
        samples: B samples of two classes or more.
        rate: in [0, 1]; round(rate * B) labels change.
        rng: source of the draws.

    Raises:
        ConfigError: the rate is out of range.
    """
    if not 0.0 <= rate <= 1.0:
        raise ConfigError("out of range", where="rate", found=rate, expected="0 to 1")
    chosen = rng.permutation(len(samples))[: math.floor(rate * len(samples) + 0.5)]
    labels = samples.labels.copy()
    steps = rng.integers(1, samples.classes, size=len(chosen))  # a step of 0 would keep the label
    labels[chosen] = (labels[chosen] + steps) % samples.classes
    return Samples(samples.features, labels, samples.classes)


def permute_labels(samples: Samples, permutation: tuple[int, ...]) -> Samples:
    """Every label y becomes permutation[y]: other names for the same classes (DPFL, section 4.3).

    Raises:
        ConfigError: not a permutation of the classes.
    """
    check_permutation(permutation, samples.classes)
    renamed: NDArray[np.int64] = np.array(permutation, dtype=np.int64)[samples.labels]
    return Samples(samples.features, renamed, samples.classes)


def derangement(classes: int, rng: np.random.Generator) -> tuple[int, ...]:
    """A permutation that leaves no class in its place; all are equally likely.

    Raises:
        ConfigError: fewer than two classes.
    """
    if classes < 2:
        raise ConfigError("out of range", where="classes", found=classes, expected="2 or more")
    while True:  # about e = 2.7 attempts
        drawn = rng.permutation(classes)
        if (drawn != np.arange(classes)).all():
            return tuple(int(c) for c in drawn)


def check_permutation(permutation: tuple[int, ...], classes: int) -> None:
    """Refuse what does not name each of 0..classes-1 once, as a ConfigError."""
    if sorted(permutation) != list(range(classes)):
        raise ConfigError(
            "not a permutation of the classes",
            where="permutation",
            found=permutation,
            expected=f"each of 0 to {classes - 1} once",
        )
