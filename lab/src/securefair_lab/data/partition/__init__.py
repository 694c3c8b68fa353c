"""Who holds which samples of a pooled data set: seeded partitioners behind one small interface.

`interface` says what a partitioner promises, `sizes` makes participants unequal in how much they
hold, `classes` in which classes, `counts` in both as prescribed, `natural` follows a column such
as the hospital, and `following` divides a test set like the training samples.
"""

from collections.abc import Mapping
from types import MappingProxyType

from securefair_lab.data.partition.classes import (
    ClassLadderPartitioner,
    DirichletPartitioner,
    PathologicalPartitioner,
)
from securefair_lab.data.partition.counts import CountsPartitioner
from securefair_lab.data.partition.interface import Partitioner
from securefair_lab.data.partition.natural import NaturalIdPartitioner
from securefair_lab.data.partition.sizes import (
    IidPartitioner,
    ImbalancedPartitioner,
    PowerLawPartitioner,
    RatioPartitioner,
)

PARTITIONERS: Mapping[str, type[Partitioner]] = MappingProxyType(
    {
        "homogeneous": IidPartitioner,
        "imbalanced": ImbalancedPartitioner,
        "ratio": RatioPartitioner,
        "power-law": PowerLawPartitioner,
        "dirichlet": DirichletPartitioner,
        "pathological": PathologicalPartitioner,
        "class-ladder": ClassLadderPartitioner,
    }
)
"""The partitioners that need labels only, by the name that configurations use."""

__all__ = [
    "PARTITIONERS",
    "ClassLadderPartitioner",
    "CountsPartitioner",
    "DirichletPartitioner",
    "IidPartitioner",
    "ImbalancedPartitioner",
    "NaturalIdPartitioner",
    "Partitioner",
    "PathologicalPartitioner",
    "PowerLawPartitioner",
    "RatioPartitioner",
]
