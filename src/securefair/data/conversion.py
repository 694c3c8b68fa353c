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


def make_samples(
    data: object,
    *,
    label: str | None = None,
    feature_range: tuple[float, float] | None = None,
    classes: int | None = None,
) -> Samples:
    """Samples from what people have.

    Args:
        data: a DataFrame of pandas or polars or the path of a table, with `label`; else a pair
            (features, labels) of arrays or tensors, or a map-style torch data set.
        label: column to predict; the rules of the other columns are inferred from this table,
            so that its ranges tell of these patients. A column that is no feature is logged.
        feature_range: of numbers, becomes [-1, 1]; None: they lie in it already.
        classes: that everybody agreed on; labels are their numbers from 0, and one that no sample
            has keeps its place. None: those found here; numbers with a gap, or not from 0, are
            numbered anew and this is logged.

    Raises:
        DataError: it is none of these, or holds what no rule reads; or a label is none of so many
            classes.
    """
    if isinstance(data, str | Path) or is_frame(data):
        if label is None:
            raise DataError(
                "a table needs the column to predict",
                where="label",
                expected='its name, such as label="ill"',
            )
        if classes is not None:
            raise DataError(
                "a table says its classes itself",
                where="classes",
                found=classes,
                expected="no such argument, which is for arrays of numbered classes",
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
    if label is not None:
        raise DataError(
            "arrays have no column to predict",
            where="label",
            found=label,
            expected="no such argument: arrays come with their labels, (features, labels)",
        )
    features, labels = arrays_of(data, where="samples")
    named = None if classes is not None else named_classes([labels], everyone=False)
    numbers = labels if named is None else named[0][0]
    if named is not None and labels.dtype.kind not in "OUS":
        _log.warning(
            "labels %s became classes 0 to %d: say classes= where a class is missing here",
            *(", ".join(named[1]), len(named[1]) - 1),
        )
    return samples_of(
        (features, numbers), where="samples", classes=classes, feature_range=feature_range
    )
