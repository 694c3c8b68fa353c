"""Samples: data sets, agreed public preprocessing, held-out parts, and who holds what.

Place in the flow: **a batch of samples** -> features -> packed slots. Nothing here is fitted to
a participant's data: ranges and levels are public and the same for everyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.data.arrays import IndexedDataset as IndexedDataset
    from securefair.data.arrays import arrays_of as arrays_of
    from securefair.data.arrays import read_npz as read_npz
    from securefair.data.arrays import samples_of as samples_of
    from securefair.data.cache import cache_array as cache_array
    from securefair.data.cache import content_key as content_key
    from securefair.data.conversion import make_samples as make_samples
    from securefair.data.dataset import ParticipantData as ParticipantData
    from securefair.data.dataset import Samples as Samples
    from securefair.data.encoding import encode as encode
    from securefair.data.encoding import encode_features as encode_features
    from securefair.data.encoding import encode_labels as encode_labels
    from securefair.data.encoding import encode_new as encode_new
    from securefair.data.heart import HEART_SPEC as HEART_SPEC
    from securefair.data.heart import HOSPITALS as HOSPITALS
    from securefair.data.heart import heart_rows as heart_rows
    from securefair.data.heart import load_heart as load_heart
    from securefair.data.inference import InferredTable as InferredTable
    from securefair.data.inference import infer_classes as infer_classes
    from securefair.data.inference import infer_table as infer_table
    from securefair.data.proposal import ColumnProposal as ColumnProposal
    from securefair.data.proposal import Proposal as Proposal
    from securefair.data.proposal import propose as propose
    from securefair.data.rows import Row as Row
    from securefair.data.rows import Table as Table
    from securefair.data.rows import read_rows as read_rows
    from securefair.data.sheets import csv_text as csv_text
    from securefair.data.split import hold_out as hold_out
    from securefair.data.split import participant_rng as participant_rng
    from securefair.data.split import stratified_rows as stratified_rows
    from securefair.data.split import stratified_split as stratified_split
    from securefair.data.table import TableSpec as TableSpec
    from securefair.data.table import Target as Target
    from securefair.data.table import feature_names as feature_names


# What reads tables takes 46 MB, and arrays need none of it.
__getattr__, __dir__, __all__ = on_first_use(__name__)
