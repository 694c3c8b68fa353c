"""The round whose model a participant keeps: the one that did best on its validation samples.

DPFL reports such checkpoints (App. H). Choosing by test accuracy instead, the best of all rounds,
would report the luck of the test samples as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from securefair.errors import DataError
from securefair.records import RoundRecord


def chosen_rounds(records: Sequence[RoundRecord]) -> list[int]:
    """For each participant the position of the record that validated best; the first of equals.

    Raises:
        DataError: there are no records, or they have no validation accuracy.
    """
    accuracies = [record.validation_accuracy for record in records]
    if not accuracies or any(accuracy is None for accuracy in accuracies):
        raise DataError(
            "no validation accuracy to choose by",
            found=f"{len(records)} records",
            hint="Hold some of the training samples out for validation",
        )
    rounds: list[int] = np.argmax(np.array(accuracies, dtype=np.float64), axis=0).tolist()
    return rounds


def chosen_accuracy(records: Sequence[RoundRecord]) -> list[float]:
    """Test accuracy of each participant at the round that validated best.

    Raises:
        DataError: as `chosen_rounds`.
    """
    return [records[t].accuracy[n] for n, t in enumerate(chosen_rounds(records))]
