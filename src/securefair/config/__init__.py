"""What a run is asked to do: one TOML file, checked whole before anything starts.

Each section stands in a module of its own, with its keys and what they mean; `sections` puts them
together. `loading` turns text into a `RunConfig` or a `ConfigError` that names file, key, found and
expected, `writing` turns it back into TOML.
"""

from securefair.config.data import DataSection
from securefair.config.distillation import DistillationSection, FairnessSection
from securefair.config.encryption import DisclosureSection, EncryptionSection
from securefair.config.gossip import GossipSection
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
from securefair.config.run import AlgorithmName, ReportSection, RunSection
from securefair.config.sections import RunConfig
from securefair.config.training import ModelSection, TrainingSection
from securefair.config.transfer import TransferSection
from securefair.config.user_data import (
    BinaryColumn,
    CategoricalColumn,
    IgnoredColumn,
    ImageColumn,
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
    "ImageColumn",
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
