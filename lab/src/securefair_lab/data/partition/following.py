"""A test set divided so that each participant is tested on the classes it trains on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from securefair.errors import DataError
from securefair_lab.data.partition.interface import (
    Indices,
    apportion,
    cut,
    gather,
    samples_by_class,
)


def follow(
    train_labels: Sequence[Indices], test_labels: Indices, rng: np.random.Generator
) -> list[Indices]:
    """Rows of a test set for each participant, of every class the share it trains on (DPFL, H.3).

    Guarantees: the parts are disjoint, in random order, and none is empty; of each class that
    anyone trains on, all test samples are given away, to within one sample in the shares of that
    class's training samples, except that whoever would get nothing takes one sample of its most
    frequent class from the participant with the most of it.

    Args:
        train_labels: classes of each participant's training samples.
        test_labels: class of each test sample.
        rng: source of the draws.

    Raises:
        DataError: a participant trains only on classes whose test samples do not go round.
    """
    classes = 1 + max(int(labels.max(initial=0)) for labels in (*train_labels, test_labels))
    held = np.array([np.bincount(labels, minlength=classes) for labels in train_labels])
    by_class = samples_by_class(test_labels, rng)
    sizes = np.zeros_like(held)
    for label, samples in by_class.items():
        if held[:, label].any():
            shares = held[:, label] / held[:, label].sum()
            sizes[:, label] = apportion(len(samples), shares, rng)
    for n in np.flatnonzero(sizes.sum(axis=1) == 0):
        most = int(held[n].argmax())
        spare = np.where(sizes.sum(axis=1) > 1, sizes[:, most], 0)
        donor = int(spare.argmax())
        if not spare[donor]:
            raise DataError(
                f"participant {n + 1} of {len(held)} would be tested on nothing",
                where=f"class {most}",
                found=int((test_labels == most).sum()),
                expected="a test sample",
                hint="Use more test samples, or hold out of the training samples",
            )
        sizes[donor, most] -= 1
        sizes[n, most] += 1
    return gather([cut(samples, sizes[:, label]) for label, samples in by_class.items()], rng)
