"""Held-out samples, stratified by class and seeded by participant.

Rows of one patient stay together: a model that has seen one of them knows the patient.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError, DataError

Rows = NDArray[np.int64]


def hold_out(
    name: str, samples: Samples, test_fraction: float, seed: int, *, by_rows: bool = False
) -> ParticipantData:
    """One participant's data with a stratified part held out.

    The draw depends on the seed and the name only: who else takes part, and in which order,
    changes nothing.

    Args:
        name: of the participant.
        samples: all it holds.
        test_fraction: held out for testing, in (0, 1).
        seed: of the draw.
        by_rows: as versions up to 0.2.0 did, whose sites go on with what they began with: rows of
            one patient may be in both parts.

    Raises:
        ConfigError, DataError: as `split_rows`, naming the participant.
    """
    rng = participant_rng(name, seed)
    try:
        if by_rows:
            kept, held = stratified_rows(samples.labels, test_fraction, rng)
        else:
            kept, held = split_rows(samples, test_fraction, rng)
    except DataError as error:
        raise error.about(f"participant {name}") from error
    train, test = samples.take(kept), samples.take(held)
    return ParticipantData(name, train, test, test_rows=held, train_rows=kept)


def keep_training(own: ParticipantData, most: int, seed: int) -> ParticipantData:
    """The same participant with at most so many training samples, drawn by seed and name.

    A smaller number keeps a part of what a larger one keeps; test samples stay.
    """
    rng = participant_rng(own.name, seed)
    rows = np.sort(rng.permutation(len(own.train))[:most])
    left = rows if own.train_rows is None else own.train_rows[rows]
    held = own.test_rows
    if held is None:  # of a table of their own, behind all that there was to train on
        held = len(own.train) + np.arange(len(own.test))
    return replace(own, train=own.train.take(rows), train_rows=left, test_rows=held, reduced=True)


def stratified_split(
    samples: Samples, test_fraction: float, rng: np.random.Generator
) -> tuple[Samples, Samples]:
    """Training and test samples, disjoint and together all of `samples`, each in random order.

    Guarantees, arguments and errors as `split_rows`.
    """
    kept, held = split_rows(samples, test_fraction, rng)
    return samples.take(kept), samples.take(held)


def split_rows(
    samples: Samples, test_fraction: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """As `stratified_rows` of one row of each patient, whose other rows go with it.

    So no patient has rows in both parts, and without patients of several rows it is the same.
    Every class keeps a training sample.

    Raises:
        ConfigError, DataError: as there; or nobody can be held out.
    """
    one = one_row_each(samples)
    if len(one) == len(samples):
        return stratified_rows(samples.labels, test_fraction, rng)
    labels, who = samples.labels, samples.who
    dealt, _ = stratified_rows(labels[one], test_fraction, rng)
    kept = np.isin(who, who[one[dealt]])
    for label in np.setdiff1d(
        labels, labels[kept]
    ):  # a class of patients who were dealt for another
        kept |= who == who[labels == label][0]
    if kept.all():
        raise DataError(
            "too few patients to hold any out",
            found=len(one),
            expected="two patients of every class",
        )
    return rng.permutation(np.flatnonzero(kept)), rng.permutation(np.flatnonzero(~kept))


def stratified_rows(
    labels: NDArray[np.int64],
    test_fraction: float,
    rng: np.random.Generator,
) -> tuple[Rows, Rows]:
    """Rows for training and for testing, disjoint and together all, each in random order.

    Guarantees: every class keeps a training sample; of a class with n samples n * test_fraction
    are held out, rounded up or down (less where that would take the last); together round(B *
    test_fraction), at least 1, wherever the former allow it.

    Args:
        labels: class of each of B samples, integers from 0.
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
    counts = np.bincount(labels)
    most = np.maximum(counts - 1, 0)  # a class never loses its last training sample
    exact = counts * test_fraction
    least = np.minimum(np.floor(exact).astype(np.int64), most)
    upper = np.minimum(np.ceil(exact).astype(np.int64), most)
    if not upper.sum():
        raise DataError(
            "too few samples to hold any out",
            found=len(labels),
            expected="a class with 2 samples or more",
            hint="Use fewer participants or more samples",
        )
    total = min(max(1, round(len(labels) * test_fraction)), int(upper.sum()))
    # Largest remainder: whole samples are dealt to the classes that rounding down hurt most.
    by_remainder = np.argsort(np.where(upper > least, least - exact, np.inf), kind="stable")
    taken = least.copy()
    taken[by_remainder[: total - int(least.sum())]] += 1
    order = rng.permutation(len(labels))
    rank = np.empty(len(labels), dtype=np.int64)  # position of a sample among those of its class
    for label in range(len(counts)):
        of_class = order[labels[order] == label]
        rank[of_class] = np.arange(len(of_class))
    is_test = rank < taken[labels]
    return order[~is_test[order]], order[is_test[order]]


def one_row_each(samples: Samples) -> Rows:
    """A row of each patient, one of the class that is rarest of all, in the order of `who`."""
    if samples.patients is None:
        return np.arange(len(samples))
    rare = np.bincount(samples.labels)[samples.labels]
    order = np.lexsort((rare, samples.patients))
    _, first = np.unique(samples.patients[order], return_index=True)
    return order[first]


def participant_rng(name: str, seed: int) -> np.random.Generator:
    """A participant's own source of draws for holding out, whoever else takes part."""
    digest = blake2b(name.encode(), digest_size=8, person=b"sf-hold-out").digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])
