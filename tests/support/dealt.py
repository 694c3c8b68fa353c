"""Samples of which labels alone matter: what is dealt to parts and folds."""

import numpy as np

from securefair.data import Samples


def dealt(labels, patients=None, *, classes=4):
    """One feature, the number of the row."""
    labels = np.asarray(labels, dtype=np.int64)
    numbers = np.arange(len(labels), dtype=np.float64)[:, None]
    return Samples(numbers, labels, classes, patients=patients)
