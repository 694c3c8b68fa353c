"""What a run is asked to do: one TOML file, checked whole before anything starts.

`sections` says which keys exist and what they mean, `loading` turns text into a `RunConfig` or
a `ConfigError` that names file, key, found and expected, `writing` turns it back into TOML.
"""

from securefair.config.loading import (
    checked_settings,
    demo_config,
    load_config,
    override,
    parse_config,
)
from securefair.config.partition import (
    ClassLadderPartition,
    DirichletPartition,
    HomogeneousPartition,
    ImbalancedPartition,
    Partition,
    PathologicalPartition,
    PowerLawPartition,
    RatioPartition,
)
from securefair.config.sections import (
    AlgorithmName,
    DataSection,
    DisclosureSection,
    DistillationSection,
    EncryptionSection,
    FairnessSection,
    GossipSection,
    ModelSection,
    ReportSection,
    RunConfig,
    RunSection,
    TrainingSection,
    TransferSection,
)
from securefair.config.user_data import (
    BinaryColumn,
    CategoricalColumn,
    IgnoredColumn,
    NumericColumn,
    ParticipantSection,
    TableSection,
)
from securefair.config.writing import to_toml

__all__ = [
    "AlgorithmName",
    "BinaryColumn",
    "CategoricalColumn",
    "ClassLadderPartition",
    "DataSection",
    "DirichletPartition",
    "DisclosureSection",
    "DistillationSection",
    "EncryptionSection",
    "FairnessSection",
    "GossipSection",
    "HomogeneousPartition",
    "IgnoredColumn",
    "ImbalancedPartition",
    "ModelSection",
    "NumericColumn",
    "ParticipantSection",
    "Partition",
    "PathologicalPartition",
    "PowerLawPartition",
    "RatioPartition",
    "ReportSection",
    "RunConfig",
    "RunSection",
    "TableSection",
    "TrainingSection",
    "TransferSection",
    "checked_settings",
    "demo_config",
    "load_config",
    "override",
    "parse_config",
    "to_toml",
]
