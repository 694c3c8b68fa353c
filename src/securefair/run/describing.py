"""Table 1 of all hospitals in one process: `securefair describe`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from securefair.collaboration.described import Described, beside_each_other
from securefair.collaboration.host import Stored
from securefair.collaboration.kinds import describing_kind, first_seed_of
from securefair.collaboration.resolved import ResolvedRun
from securefair.collaboration.told import ToldFile
from securefair.config import RunConfig
from securefair.errors import DataError
from securefair.sites.simulation.starting import simulated


def describe_resolved(
    run: ResolvedRun, *, ledger: Path | None = None, again: bool = False
) -> Described:
    """Let all hospitals add up their counts, and read the table.

    Args:
        run: of `first_seed_of` a configuration, loaded.
        ledger: file in which every hospital notes what it tells; None: nobody does.
        again: all agree to tell what differs from earlier descriptions.

    Raises:
        DataError: somebody opened no sum.
        LedgerError: an earlier description differs, and they do not agree to tell that.
        StorageError: the ledger cannot be read or written.
    """
    (seed, data), kind = next(iter(run.data.items())), describing_kind()
    agreement: Any = run.agreements[seed][kind.name]
    ledgers = {
        own.name: ToldFile(ledger, own.name, again=again) for own in data if ledger is not None
    }
    for own in data if ledgers else ():  # before anybody notes anything
        kind.check_told(agreement, own, ledgers[own.name])
    simulation = simulated(
        kind,
        agreement,
        data,
        seed=seed,
        left={name: Stored(told=one) for name, one in ledgers.items()},
    )
    try:
        list(simulation.rounds(kind.rounds(run.config.training.rounds)))
        found = [host.description() for host in simulation.hosts.values()]
        told = [one for one in found if one is not None]
        if len(told) < len(found):
            raise DataError("no table was opened", found="; ".join(simulation.problems))
        return beside_each_other(told)
    finally:
        simulation.close()


def describe_config(
    config: RunConfig, *, ledger: Path | None = None, again: bool = False
) -> Described:
    """Table 1 of what a configuration names.

    Args:
        config: checked.
        ledger, again: as of `describe_resolved`.

    Raises:
        ConfigError: fewer than three hospitals, or settings that a description contradicts.
        SecureFairError: as `describe_resolved`; data cannot be read.
    """
    run = ResolvedRun.of(first_seed_of(config, describing_kind())).load()
    return describe_resolved(run, ledger=ledger, again=again)
