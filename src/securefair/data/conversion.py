"""What people have in hand -> `Samples`."""

from __future__ import annotations

import logging
from pathlib import Path

from securefair.data.arrays import arrays_of, samples_of
from securefair.data.arrow_tables import is_frame, read_frame
from securefair.data.class_names import named_classes
from securefair.data.dataset import Samples
from securefair.data.encoding import encode
from securefair.data.inference import infer_table
from securefair.data.proposal import propose
from securefair.data.rows import read_rows
from securefair.errors import DataError, printable

_log = logging.getLogger(__name__)


def converted(
    data: object, *, label: str | None, feature_range: tuple[float, float] | None
) -> Samples:
    """See `Samples.of`."""
    if isinstance(data, str | Path) or is_frame(data):
        if label is None:
            raise DataError(
                "a table needs the column to predict",
                where="label",
                expected='its name, such as label="ill"',
            )
        table = (
            read_rows(data) if isinstance(data, str | Path) else read_frame(data, source="table")
        )
        if not len(table):
            raise DataError("the table has no rows", where=table.source)
        rules = infer_table({"this table": propose(table, label=label, at_least=1)})
        for name, why in rules.unused.items():
            _log.warning("%s", printable(f"{table.source}: column {name} is no feature: {why}"))
        return encode(table, rules.spec)
    features, labels = arrays_of(data, where="samples")
    named = named_classes([labels])
    numbers = labels if named is None else named[0][0]
    return samples_of((features, numbers), where="samples", feature_range=feature_range)
