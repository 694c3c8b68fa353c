"""Samples: data sets, agreed public preprocessing, held-out parts, and who holds what.

Place in the flow: **a batch of samples** -> features -> packed slots. Nothing here is fitted to
a participant's data: ranges and levels are public and the same for everyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import open_door

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

# What reads tables takes 46 MB, and arrays need none of it.
__getattr__, __dir__, __all__ = open_door(__name__)
