"""A whole configuration file: its sections together, and what they must agree on.

Every model is frozen, strict (no silent conversion of "5" to 5) and refuses unknown keys.
Defaults are the values of the packaged demo; docs/terminology.md explains the words. Each section
stands in a module of its own beside this one.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from securefair.config.base import Section, contradiction, refuse_repeats
from securefair.config.data import DataSection
from securefair.config.distillation import DistillationSection, FairnessSection
from securefair.config.encryption import DisclosureSection, EncryptionSection
from securefair.config.gossip import GossipSection
from securefair.config.privacy import PrivacySection
from securefair.config.run import ReportSection, RunSection
from securefair.config.table_one import TableOneSection
from securefair.config.training import ModelSection, TrainingSection
from securefair.config.transfer import TransferSection
from securefair.config.user_data import ParticipantSection, TableSection
from securefair.config.validation import ValidationSection


class RunConfig(Section):
    """A whole configuration file."""

    # Sections check themselves where they are made: defaults once, not with every file.
    model_config = ConfigDict(validate_default=False)

    run: RunSection
    data: DataSection
    table: TableSection | None = Field(
        default=None, description="How to read .csv and .parquet files"
    )
    model: ModelSection = ModelSection()
    training: TrainingSection = TrainingSection()
    transfer: TransferSection = TransferSection()
    validation: ValidationSection = ValidationSection()
    table_one: TableOneSection = TableOneSection()
    distillation: DistillationSection = DistillationSection()
    fairness: FairnessSection = FairnessSection()
    gossip: GossipSection = GossipSection()
    encryption: EncryptionSection = EncryptionSection()
    disclosure: DisclosureSection = DisclosureSection()
    privacy: PrivacySection | None = Field(
        default=None, description="Differential privacy for the patients behind the models"
    )
    report: ReportSection = ReportSection()
    participants: Annotated[tuple[ParticipantSection, ...], Field(strict=False)] = Field(
        default=(), description="Who brings files (source = files)"
    )
    renewals: Annotated[tuple[ParticipantSection, ...], Field(strict=False)] = Field(
        default=(),
        description="Tables that participants have later, in order: after the first exchange each "
        "asks its peers anew (`securefair renew` adds one)",
    )

    @model_validator(mode="after")
    def _check_own_data(self) -> Self:
        if self.data.source != "files":
            for key, given in (
                ("participants", self.participants),
                ("table", self.table),
                ("renewals", self.renewals),
            ):
                if given:
                    raise contradiction(
                        key,
                        f"the data is {self.data.source}, not files",
                        found=key,
                        expected='data.source = "files"',
                    )
            return self
        names = [one.name for one in self.participants]
        refuse_repeats("participants", names)
        sources = [one.source for one in self.participants]
        twice = next((at for at, one in enumerate(sources) if one in sources[:at]), None)
        if twice is not None:
            raise contradiction(
                f"participants[{twice}]",
                "two participants bring the same patients",
                found=str(sources[twice]),
                expected="a table of its own for each",
            )
        if len(names) < 2:
            raise contradiction(
                "participants",
                "files need at least two participants",
                found=names,
                expected="a [[participants]] section with name and file for each",
            )
        strangers = [one.name for one in self.renewals if one.name not in names]
        if strangers:
            raise contradiction(
                "renewals",
                "nobody of this name takes part",
                found=", ".join(strangers),
                expected=f"one of {', '.join(names)}",
            )
        agreed = {one.name for one in (() if self.table is None else self.table.columns)}
        for at, one in enumerate(self.participants):
            if shared := agreed & {rule.name for rule in one.columns or ()}:
                raise contradiction(
                    f"participants[{at}].columns",
                    "a column that everybody has is no participant's own",
                    found=sorted(shared)[0],
                    expected="a rule in [[table.columns]], or here",
                )
        fills = self.table is not None and self.table.fill
        if fills and self.renewals:
            raise contradiction(
                "table.fill",
                "with other patients other values would be filled in: those who stay are not known",
                found=True,
                expected="false, or no [[renewals]]",
            )
        if any(one.columns for one in self.renewals):
            raise contradiction(
                "renewals",
                "later tables have the columns of the participant's first one",
                found="columns",
                expected="no such section",
            )
        tables = any(one.is_table for one in (*self.participants, *self.renewals))
        if tables and (self.table is None or self.table.label is None):
            raise contradiction(
                "table.label",
                "a table needs a column to predict",
                found="nothing",
                expected="the name of a column",
            )
        return self

    @model_validator(mode="after")
    def _check_privacy(self) -> Self:
        privacy = self.privacy
        if privacy is None:
            return self
        if self.table is not None and self.table.fill:
            raise contradiction(
                "table.fill",
                "values that are filled in tell of other patients, which no promise counts",
                found=True,
                expected="false, or no [privacy] section",
            )
        if self.training.class_weight != "none":
            raise contradiction(
                "training.class_weight",
                "a private fit counts every patient alike",
                found=self.training.class_weight,
                expected='"none", or no [privacy] section',
            )
        if privacy.store is not None and len(self.run.seeds) > 1:
            raise contradiction(
                "privacy.store",
                "every seed fits anew, and every fit is charged",
                found=f"{len(self.run.seeds)} seeds",
                expected="one seed, or no store (a simulation)",
            )
        if privacy.store is not None and self.run.smaller is not None:
            raise contradiction(
                "privacy.store",
                "smaller hospitals are fitted as well, and every fit is charged",
                found=f"run.smaller = {self.run.smaller}",
                expected="no run.smaller, or no store (a simulation)",
            )
        return self

    @property
    def needs_trust(self) -> bool:
        """Whether it names code or asks a server: commands that look only want a word first."""
        asks = any(one.asks_server for one in (*self.participants, *self.renewals))
        return asks or self.data.entry is not None

    @property
    def tells_ranges(self) -> bool:
        """Whether ranges and levels of columns tell everyone something of some patients."""
        return self.table is not None and self.table.origin == "participants"
