"""What a run is asked to do: one TOML file, checked whole before anything starts.

Each section stands in a module of its own, with its keys and what they mean; `sections` puts them
together. `loading` turns text into a `RunConfig` or a `ConfigError` that names file, key, found and
expected, `writing` turns it back into TOML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
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
    from securefair.config.reading import given_keys, keys_of, kinds_keys
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
    "given_keys",
    "keys_of",
    "kinds_keys",
    "load_config",
    "override",
    "parse_config",
    "to_toml",
]

_HOME = {
    "AlgorithmName": "run",
    "BinaryColumn": "user_data",
    "CategoricalColumn": "user_data",
    "ClassLadderPartition": "partition",
    "DataSection": "data",
    "DirichletPartition": "partition",
    "DisclosureSection": "encryption",
    "DistillationSection": "distillation",
    "EncryptionSection": "encryption",
    "FairnessSection": "distillation",
    "GossipSection": "gossip",
    "HomogeneousPartition": "partition",
    "IgnoredColumn": "user_data",
    "ImageColumn": "user_data",
    "ImbalancedPartition": "partition",
    "ModelSection": "training",
    "NumericColumn": "user_data",
    "ParticipantSection": "user_data",
    "Partition": "partition",
    "PathologicalPartition": "partition",
    "PowerLawPartition": "partition",
    "RatioPartition": "partition",
    "ReportSection": "run",
    "RunConfig": "sections",
    "RunSection": "run",
    "TableSection": "user_data",
    "TrainingSection": "training",
    "TransferSection": "transfer",
    "checked_settings": "loading",
    "demo_config": "loading",
    "given_keys": "reading",
    "keys_of": "reading",
    "kinds_keys": "reading",
    "load_config": "loading",
    "override": "loading",
    "parse_config": "loading",
    "to_toml": "writing",
}

__getattr__, __dir__ = on_first_use(__name__, _HOME)
