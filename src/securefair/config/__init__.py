"""What a run is asked to do: one TOML file, checked whole before anything starts.

Each section stands in a module of its own, with its keys and what they mean; `sections` puts them
together. `loading` turns text into a `RunConfig` or a `ConfigError` that names file, key, found and
expected, `writing` turns it back into TOML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.config.columns import BinaryColumn as BinaryColumn
    from securefair.config.columns import CategoricalColumn as CategoricalColumn
    from securefair.config.columns import IgnoredColumn as IgnoredColumn
    from securefair.config.columns import ImageColumn as ImageColumn
    from securefair.config.columns import NumericColumn as NumericColumn
    from securefair.config.data import DataSection as DataSection
    from securefair.config.distillation import DistillationSection as DistillationSection
    from securefair.config.distillation import FairnessSection as FairnessSection
    from securefair.config.encryption import DisclosureSection as DisclosureSection
    from securefair.config.encryption import EncryptionSection as EncryptionSection
    from securefair.config.gossip import GossipSection as GossipSection
    from securefair.config.loading import check_section as check_section
    from securefair.config.loading import check_settings as check_settings
    from securefair.config.loading import demo_config as demo_config
    from securefair.config.loading import load_config as load_config
    from securefair.config.loading import override as override
    from securefair.config.loading import parse_config as parse_config
    from securefair.config.partition import ClassLadderPartition as ClassLadderPartition
    from securefair.config.partition import DirichletPartition as DirichletPartition
    from securefair.config.partition import HomogeneousPartition as HomogeneousPartition
    from securefair.config.partition import ImbalancedPartition as ImbalancedPartition
    from securefair.config.partition import Partition as Partition
    from securefair.config.partition import PathologicalPartition as PathologicalPartition
    from securefair.config.partition import PowerLawPartition as PowerLawPartition
    from securefair.config.partition import RatioPartition as RatioPartition
    from securefair.config.reading import keys_of as keys_of
    from securefair.config.reading import kinds_keys as kinds_keys
    from securefair.config.run import AlgorithmName as AlgorithmName
    from securefair.config.run import ReportSection as ReportSection
    from securefair.config.run import RunSection as RunSection
    from securefair.config.sections import RunConfig as RunConfig
    from securefair.config.table_one import TableOneSection as TableOneSection
    from securefair.config.training import ModelSection as ModelSection
    from securefair.config.training import TrainingSection as TrainingSection
    from securefair.config.transfer import TransferSection as TransferSection
    from securefair.config.user_data import ParticipantSection as ParticipantSection
    from securefair.config.user_data import TableSection as TableSection
    from securefair.config.user_data import absolute_teacher as absolute_teacher
    from securefair.config.validation import ValidationSection as ValidationSection
    from securefair.config.writing import to_toml as to_toml


__getattr__, __dir__, __all__ = on_first_use(__name__)
