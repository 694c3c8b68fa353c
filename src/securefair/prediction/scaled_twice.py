"""Numbers of a `feature_range` that somebody scaled already, which a model would scale again.

A module or head takes scaled values and a kept model takes raw ones. What was meant for one and is
given to the other is answered by the opposite class as likely as not.
"""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError
from securefair.prediction.record import ModelRecord

Array = NDArray[np.float64]

_log = logging.getLogger(__name__)


def check_raw(record: ModelRecord, given: Array, scaled: Array) -> None:
    """Refuse features (B, d) that lie beyond the range, and nearer to training if they are scaled.

    Those within the range, but beyond most of training, are logged: they may be a rare patient's.

    Args:
        record: of the model.
        given: as they came, (B, d).
        scaled: the same in [-1, 1], by the record's range.

    Raises:
        DataError: they look scaled.
    """
    if record.feature_range is None or not given.size or np.abs(given).max() > 1.0:
        return
    usual = np.array(record.usual)
    if not np.abs(given - usual).sum() < np.abs(scaled - usual).sum():
        return
    low, high = record.feature_range
    if ((given < low) | (given > high)).any():
        raise DataError(
            "these numbers are scaled already, and would be scaled again",
            where="samples",
            found=f"values {given.min():g} to {given.max():g}",
            expected=f"raw values within the feature_range [{low:g}, {high:g}]",
            hint="This model scales by itself. Modules and heads of other algorithms do not",
        )
    beyond = (scaled < np.array(record.low)) | (scaled > np.array(record.high))
    if beyond.mean() > 0.5:
        _log.warning(
            "samples within [-1, 1] lie beyond most that the model was trained on: it takes raw "
            "values, and scales them by its feature_range"
        )
