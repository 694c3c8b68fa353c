"""Cross-validation: a data set without a test part becomes many with one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from securefair.errors import ConfigError, DataError
from securefair_lab.data.pool import DataSet


def cross_validation(
    source: DataSet, *, folds: int, repeats: int = 1, seed: int
) -> Iterator[DataSet]:
    """Each fold's samples for testing and all others for training, stratified by class.

    Guarantees: in each of the repeats every sample is tested exactly once; of a class with n
    samples every fold tests n / folds, rounded up or down. A test part that the data set comes
    with is not used. FairSL repeats 5 or 10 folds a hundred times.

    Args:
        source: the data set; its training pool is divided.
        folds: 2 or more.
        repeats: how often the pool is shuffled and divided anew, 1 or more.
        seed: of the shuffles.

    Yields:
        Data sets ready for `division.divide`, `folds` for each of the repeats.

    Raises:
        ConfigError: a number is out of range.
        DataError: a class has fewer samples than there are folds.
    """
    for name, value, least in (("folds", folds, 2), ("repeats", repeats, 1)):
        if value < least:
            raise ConfigError("out of range", where=name, found=value, expected=f"{least} or more")
    pool = source.train
    counts = np.bincount(pool.labels, minlength=pool.classes)
    if counts.min() < folds:
        raise DataError(
            "a class has fewer samples than there are folds",
            where=f"class {int(counts.argmin())}",
            found=int(counts.min()),
            expected=f"at least {folds}",
            hint="Use fewer folds",
        )
    return _divided(source, folds, repeats, seed)


def _divided(source: DataSet, folds: int, repeats: int, seed: int) -> Iterator[DataSet]:
    from sklearn.model_selection import StratifiedKFold  # takes a second to load

    pool = source.train
    for repeat in range(repeats):
        state = int(np.random.default_rng([seed, repeat]).integers(2**32))
        splitter = StratifiedKFold(n_splits=folds, shuffle=True, random_state=state)
        for fold, (train, test) in enumerate(splitter.split(pool.labels, pool.labels), start=1):
            yield DataSet(
                name=f"{source.name}, repeat {repeat + 1}, fold {fold}",
                train=pool.take(train),
                test=pool.take(test),
            )
