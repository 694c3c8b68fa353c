"""A configuration that was resolved: what everything that runs or checks it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from securefair.collaboration.kinds import REGISTERED, AnyKind, kind_of, kinds_of
from securefair.config import RunConfig
from securefair.config.columns import OwnColumn
from securefair.data import ParticipantData, TableSpec
from securefair.data.findings import Finding
from securefair.errors import ConfigError, PlanError
from securefair.model.outcomes import outcome_of
from securefair.records import STANDALONE
from securefair.user.participants import load_participants
from securefair.user.tables import ReadTables, resolve, table_rules
from securefair.user.units import refuse_two_units

if TYPE_CHECKING:
    from securefair.model.heads import Head


@dataclass(frozen=True, eq=False, kw_only=True)
class ResolvedRun:
    """A configuration with all that it only names. Made once, and handed on.

    Attributes:
        config: with the rules of tables spelt out.
        kinds: of its algorithms, in its order; its settings fit them.
        rules: of tables, for everyone; None where samples are numbers.
        further: by participant, rules of columns that others need not have.
        own_rules: by participant, `rules` with its own columns behind; empty until data are loaded,
            and where samples are numbers.
        tables: that are read.
        inferred: whether columns were inferred from the participants' tables.
        unused: columns that inference left out, with the reason.
        data: of everyone, by seed; empty until they are loaded, or the caller's own.
        agreements: by seed and algorithm; empty until data are loaded.
        models: that everyone starts from, by name; None: as the configuration says.
        keeps_heads: whether the outcome is to hold everyone's last model as it trains.
        classes: names of classes that the configuration does not know of.
        findings: in the tables, that belong to the results.
        small: whether it is what is run once more, for small participants.
    """

    config: RunConfig
    kinds: Mapping[str, AnyKind]
    rules: TableSpec | None = None
    further: Mapping[str, Sequence[OwnColumn]] = field(default_factory=dict)
    own_rules: Mapping[str, TableSpec] = field(default_factory=dict)
    tables: ReadTables = field(default_factory=ReadTables)
    inferred: bool = False
    unused: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[int, list[ParticipantData]] = field(default_factory=dict)
    agreements: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    models: Mapping[str, Head] | None = None
    keeps_heads: bool = False
    classes: Sequence[str] | None = None
    findings: Sequence[Finding] = ()
    small: bool = False

    @classmethod
    def of(
        cls,
        config: RunConfig,
        kinds: Mapping[str, AnyKind] | None = None,
        tables: ReadTables | None = None,
    ) -> Self:
        """Resolve a configuration.

        Args:
            config: checked.
            kinds: of its algorithms, where they are known (`kinds_of`).
            tables: where some are read already.

        Raises:
            ConfigError: there is no such algorithm, or settings contradict each other.
            DataError: a file cannot be read, or no common rules can be found.
        """
        kinds = kinds_of(config) if kinds is None else kinds
        tables = ReadTables(config.table) if tables is None else tables
        further = all(kind.takes_own for kind in kinds.values())
        found = resolve(config, tables, further=further)
        return cls(
            config=found.config,
            kinds=kinds,
            rules=table_rules(found.config),
            further={one.name: one.columns or () for one in found.config.participants},
            tables=tables,
            inferred=found.inferred,
            unused=found.unused,
        )

    def load(self, *, outlines: bool = False) -> Self:
        """The same with everyone's data as they are now, and with what is agreed on; once.

        Finds out before a long run, not in it, for whom it is impossible.

        Args:
            outlines: as of `load_participants`: for whoever only plans.

        Raises:
            ConfigError, PlanError: names the participant where there is one; the outcome is not
                judged by such a score.
            SecureFairError: data cannot be read, used or divided so, or a measurement is in two
                units.
        """
        if self.agreements:
            return self
        config = self.config
        if config.table is not None:
            tables = {one.name: self.tables.of(one) for one in config.participants if one.is_table}
            refuse_two_units(tables, config.table)
        data = self.data or {
            seed: load_participants(config, seed, self.tables, outlines=outlines)
            for seed in config.run.seeds
        }
        outcome_of(next(iter(data.values()))[0].train).deciding(config.run.metric)
        if not any(kind.takes_own for kind in self.kinds.values()):
            _refuse_teachers([own for everyone in data.values() for own in everyone])
        if not all(kind.takes_own for kind in self.kinds.values()):
            _refuse_further(self.kinds, [own for everyone in data.values() for own in everyone])
        if config.privacy is not None and self.kinds:
            from securefair.collaboration.private import checked_target  # trains: takes torch

            for own in (own for everyone in data.values() for own in everyone):
                checked_target(own, config.privacy)  # whose patients are too few for a promise
        agreements = {
            seed: {
                name: kind.agree_all(config, everyone, seed=seed)
                for name, kind in self.kinds.items()
            }
            for seed, everyone in data.items()
        }
        own_rules = {}
        if self.rules is not None:
            for own in next(iter(data.values())):
                own_rules[own.name] = self.rules.with_columns(self.further.get(own.name, ()))
        return replace(self, data=data, agreements=agreements, own_rules=own_rules)

    def smaller(self, *, outlines: bool = False) -> Self | None:
        """What is run once more, for small participants, loaded; None where nothing is.

        Raises:
            SecureFairError: as `load`; it is impossible with so few samples.
        """
        asked, most = self.config.run, self.config.run.smaller
        if most is None:
            return None
        changes = {
            "name": f"{asked.name[:50]}-smaller",
            "algorithms": (STANDALONE, *list(self.kinds)[-1:]),
            "smaller": None,
            "out": None,
        }
        config = self.config.model_copy(
            update={
                "run": asked.model_copy(update=changes),
                "data": self.config.data.model_copy(update={"most_training": most}),
            }
        )
        kinds = dict(list(self.kinds.items())[-1:])
        fewer = replace(self, config=config, kinds=kinds, data={}, agreements={}, small=True)
        try:
            return fewer.load(outlines=outlines)
        except PlanError as error:
            raise PlanError(
                error.problem,
                where=f"run.smaller = {most}: {error.where}",
                found=error.found,
                expected=error.expected,
                hint=error.hint,
            ) from error


def _refuse_teachers(data: Sequence[ParticipantData]) -> None:
    for own in data:
        if own.teacher is not None:
            takers = [name for name in REGISTERED if kind_of(name).takes_own]
            raise ConfigError(
                "no algorithm of this run lets a model that is brought answer",
                where=f"participants, {own.name}, teacher",
                found=own.teacher.name,
                expected=f"no teacher, or {' or '.join(takers)} among the algorithms",
            )


def _refuse_further(kinds: Mapping[str, AnyKind], data: Sequence[ParticipantData]) -> None:
    for own in data:
        if own.train.further:
            raise ConfigError(
                "not every algorithm of this run lets a participant use columns that others have "
                "not",
                where=f"participants, {own.name}, columns",
                found=", ".join(name for name, kind in kinds.items() if not kind.takes_own),
                expected="no such columns, or "
                + " or ".join(name for name in REGISTERED if kind_of(name).takes_own),
            )
