"""Samples: data sets, agreed public preprocessing, held-out parts, and who holds what.

Place in the flow: **a batch of samples** -> features -> packed slots. Nothing here is fitted to
a participant's data: ranges and levels are public and the same for everyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.data.arrays import IndexedDataset, arrays_of, read_npz, samples_of
    from securefair.data.conversion import make_samples
    from securefair.data.dataset import ParticipantData, Samples
    from securefair.data.encoding import encode, encode_features, encode_labels, encode_new
    from securefair.data.heart import HEART_SPEC, HOSPITALS, load_heart
    from securefair.data.inference import InferredTable, infer_classes, infer_table
    from securefair.data.proposal import ColumnProposal, Proposal, propose
    from securefair.data.rows import Row, Table, read_rows
    from securefair.data.split import hold_out, stratified_split
    from securefair.data.table import (
        Binary,
        Categorical,
        Numeric,
        TableSpec,
        Target,
        feature_names,
    )

__all__ = [
    "HEART_SPEC",
    "HOSPITALS",
    "Binary",
    "Categorical",
    "ColumnProposal",
    "IndexedDataset",
    "InferredTable",
    "Numeric",
    "ParticipantData",
    "Proposal",
    "Row",
    "Samples",
    "Table",
    "TableSpec",
    "Target",
    "arrays_of",
    "encode",
    "encode_features",
    "encode_labels",
    "encode_new",
    "feature_names",
    "hold_out",
    "infer_classes",
    "infer_table",
    "load_heart",
    "make_samples",
    "propose",
    "read_npz",
    "read_rows",
    "samples_of",
    "stratified_split",
]

_HOME = {
    "Binary": "table",
    "Categorical": "table",
    "ColumnProposal": "proposal",
    "HEART_SPEC": "heart",
    "HOSPITALS": "heart",
    "IndexedDataset": "arrays",
    "InferredTable": "inference",
    "Numeric": "table",
    "ParticipantData": "dataset",
    "Proposal": "proposal",
    "Row": "rows",
    "Samples": "dataset",
    "Table": "rows",
    "TableSpec": "table",
    "Target": "table",
    "arrays_of": "arrays",
    "encode": "encoding",
    "encode_features": "encoding",
    "encode_labels": "encoding",
    "encode_new": "encoding",
    "feature_names": "table",
    "hold_out": "split",
    "infer_classes": "inference",
    "infer_table": "inference",
    "load_heart": "heart",
    "make_samples": "conversion",
    "propose": "proposal",
    "read_npz": "arrays",
    "read_rows": "rows",
    "samples_of": "arrays",
    "stratified_split": "split",
}

# What reads tables takes 46 MB, and arrays need none of it.
__getattr__, __dir__ = on_first_use(__name__, _HOME)
