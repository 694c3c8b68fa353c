"""What a run is asked to do: one TOML file, checked whole before anything starts.

Each section stands in a module of its own, with its keys and what they mean; `sections` puts them
together. `loading` turns text into a `RunConfig` or a `ConfigError` that names file, key, found and
expected, `writing` turns it back into TOML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import open_door

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

__getattr__, __dir__, __all__ = open_door(__name__)
