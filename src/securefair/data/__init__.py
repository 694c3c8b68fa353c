"""Samples: data sets, agreed public preprocessing, held-out parts, and who holds what.

Place in the flow: **a batch of samples** -> features -> packed slots. Nothing here is fitted to
a participant's data: ranges and levels are public and the same for everyone.
"""

from securefair.data.arrays import IndexedDataset, arrays_of, read_npz, samples_of
from securefair.data.dataset import ParticipantData, Samples
from securefair.data.encoding import encode, encode_features, encode_labels, encode_new
from securefair.data.heart import HEART_SPEC, HOSPITALS, load_heart
from securefair.data.inference import (
    ColumnSummary,
    InferredTable,
    infer_classes,
    infer_table,
    summarise,
)
from securefair.data.partition import (
    PARTITIONERS,
    ClassLadderPartitioner,
    DirichletPartitioner,
    IidPartitioner,
    ImbalancedPartitioner,
    NaturalIdPartitioner,
    Partitioner,
    PathologicalPartitioner,
    PowerLawPartitioner,
    RatioPartitioner,
)
from securefair.data.population import load_population
from securefair.data.rows import Row, Table, read_rows
from securefair.data.split import hold_out, stratified_split
from securefair.data.table import (
    Binary,
    Categorical,
    Numeric,
    TableSpec,
    Target,
    feature_names,
    read_spec,
)

__all__ = [
    "HEART_SPEC",
    "HOSPITALS",
    "PARTITIONERS",
    "Binary",
    "Categorical",
    "ClassLadderPartitioner",
    "ColumnSummary",
    "DirichletPartitioner",
    "IidPartitioner",
    "ImbalancedPartitioner",
    "IndexedDataset",
    "InferredTable",
    "NaturalIdPartitioner",
    "Numeric",
    "ParticipantData",
    "Partitioner",
    "PathologicalPartitioner",
    "PowerLawPartitioner",
    "RatioPartitioner",
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
    "load_population",
    "read_npz",
    "read_rows",
    "read_spec",
    "samples_of",
    "stratified_split",
    "summarise",
]
