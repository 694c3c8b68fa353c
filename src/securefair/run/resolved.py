"""A configuration that was resolved: what everything that runs or checks it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from securefair.collaboration.kinds import AnyKind, kinds_of
from securefair.config import RunConfig, override
from securefair.records import STANDALONE
from securefair.user.tables import ReadTables, resolve


@dataclass(frozen=True, eq=False, kw_only=True)
class ResolvedRun:
    """A configuration with all that it only names. Made once, and handed on.

    Attributes:
        config: with the rules of tables spelt out.
        kinds: of its algorithms, in its order; its settings fit them.
        tables: that are read.
        inferred: whether columns were inferred from the participants' tables.
        unused: columns that inference left out, with the reason.
    """

    config: RunConfig
    kinds: Mapping[str, AnyKind]
    tables: ReadTables
    inferred: bool = False
    unused: Mapping[str, str] = field(default_factory=dict)

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
        tables = ReadTables() if tables is None else tables
        found = resolve(config, tables)
        return cls(
            config=found.config,
            kinds=kinds,
            tables=tables,
            inferred=found.inferred,
            unused=found.unused,
        )

    def smaller(self) -> Self | None:
        """What is run once more, for small participants; None where nothing is."""
        config = smaller_config(self.config)
        if config is None:
            return None
        kinds = {name: self.kinds[name] for name in config.run.collaborative}
        return replace(self, config=config, kinds=kinds)


def smaller_config(config: RunConfig) -> RunConfig | None:
    """The configuration of what is run once more, for small participants; None: nothing is."""
    if config.run.smaller is None:
        return None
    run = config.run.model_dump(mode="json", exclude_none=True, exclude={"smaller", "out"})
    run |= {
        "name": f"{config.run.name[:50]}-smaller",
        "algorithms": [STANDALONE, *config.run.collaborative[-1:]],
    }
    return override(
        config, {"run": run, "data.most_training": config.run.smaller}, source="run.smaller"
    )
