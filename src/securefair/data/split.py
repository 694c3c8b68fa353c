"""Held-out test samples, stratified by class and seeded by participant."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError, DataError


def hold_out(name: str, samples: Samples, test_fraction: float, seed: int) -> ParticipantData:
    """One participant's data with a stratified part held out.

    The draw depends on the seed and the name only: who else takes part, and in which order,
    changes nothing.

    Raises:
        ConfigError, DataError: as `stratified_split`, naming the participant.
    """
    digest = blake2b(name.encode(), digest_size=8, person=b"sf-hold-out").digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest, "big")])
    try:
        train, test = stratified_split(samples, test_fraction, rng)
    except DataError as error:
        raise DataError(
            error.problem,
            where=f"participant {name}",
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        ) from error
    return ParticipantData(name, train, test)


def stratified_split(
    samples: Samples, test_fraction: float, rng: np.random.Generator
) -> tuple[Samples, Samples]:
    """Training and test samples, disjoint and together all of `samples`, each in random order.

    Guarantees: every class keeps a training sample; of a class with n samples n * test_fraction
    are held out, rounded up or down (less where that would take the last); together round(B *
    test_fraction), at least 1, wherever the former allow it.

    Args:
        samples: B samples.
        test_fraction: in (0, 1).
        rng: source of the draw.

    Raises:
        ConfigError: `test_fraction` is not in (0, 1).
        DataError: there is no class with two samples, so nothing can be held out.
    """
    if not 0.0 < test_fraction < 1.0:
        raise ConfigError(
            "out of range", where="test_fraction", found=test_fraction, expected="(0, 1)"
        )
    counts = np.bincount(samples.labels, minlength=samples.classes)
    most = np.maximum(counts - 1, 0)  # a class never loses its last training sample
    exact = counts * test_fraction
    least = np.minimum(np.floor(exact).astype(np.int64), most)
    upper = np.minimum(np.ceil(exact).astype(np.int64), most)
    if not upper.sum():
        raise DataError(
            "too few samples to hold any out",
            found=len(samples),
            expected="a class with 2 samples or more",
            hint="Use fewer participants or more samples",
        )
    total = min(max(1, round(len(samples) * test_fraction)), int(upper.sum()))
    # Largest remainder: whole samples are dealt to the classes that rounding down hurt most.
    by_remainder = np.argsort(np.where(upper > least, least - exact, np.inf), kind="stable")
    taken = least.copy()
    taken[by_remainder[: total - int(least.sum())]] += 1
    order = rng.permutation(len(samples))
    rank = np.empty(len(samples), dtype=np.int64)  # position of a sample among those of its class
    for label in range(samples.classes):
        of_class = order[samples.labels[order] == label]
        rank[of_class] = np.arange(len(of_class))
    is_test = rank < taken[samples.labels]
    return samples.take(order[~is_test[order]]), samples.take(order[is_test[order]])
