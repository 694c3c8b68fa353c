"""Data that somebody brings: files, a function, or a data set class -> participants.

Place in the flow: a configuration -> **samples of each participant**. The rules of a table are the
same for everyone. No statistic over several participants' rows is ever computed; what inference of
missing rules takes from each is told in `data.inference` and stands in the resolved configuration
(`table.origin`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from securefair.config import RunConfig
from securefair.data import ParticipantData
from securefair.errors import ConfigError, DataError
from securefair.user.code import accepted, imported, user_code
from securefair.user.data_sets import alike, participant_of
from securefair.user.files import from_files
from securefair.user.tables import ReadTables


def from_function(
    config: RunConfig, seed: int, tables: ReadTables, *, outlines: bool
) -> list[ParticipantData]:
    """What a user's function returns, which takes a seed and a share of test samples if it likes.

    Raises:
        ConfigError: the function is not there.
        DataError: it failed, or what it returned cannot be used.
    """
    del tables, outlines
    entry = config.data.entry or ""
    load = imported(entry, config.data.module_folder, where="data.entry")
    offered = {"seed": seed, "test_fraction": config.data.test_fraction}
    with user_code(entry):
        given = load(**accepted(load, offered))
    if not isinstance(given, Mapping) or len(given) < 2:
        raise DataError(
            "the function must return at least two participants by name",
            where=entry,
            found=type(given).__name__ if not isinstance(given, Mapping) else f"{len(given)}",
            expected="a dict of name: (training data set, test data set), or name: data set",
        )
    return alike(
        [
            participant_of(
                str(name),
                value,
                test_fraction=config.data.test_fraction,
                seed=seed,
                feature_range=config.data.feature_range,
            )
            for name, value in given.items()
        ]
    )


def from_centers(
    config: RunConfig, seed: int, tables: ReadTables, *, outlines: bool
) -> list[ParticipantData]:
    """FLamby's convention: Dataset(center=k, train=True), and NUM_CLIENTS in its module.

    Raises:
        ConfigError: the class is not there, or the number of centres is not known.
        DataError: it failed, or its samples cannot be used.
    """
    del tables, outlines
    entry = config.data.entry or ""
    dataset = imported(entry, config.data.module_folder, where="data.entry")
    centers = config.data.centers
    if centers is None:
        centers = getattr(sys.modules[entry.partition(":")[0]], "NUM_CLIENTS", None)
    if not isinstance(centers, int) or centers < 2:
        raise ConfigError(
            "the number of centres is not known",
            where="data.centers",
            found=centers,
            expected=f"a number of 2 or more, or NUM_CLIENTS in the module of {entry}",
        )
    everyone = []
    for center in range(centers):
        with user_code(entry):
            parts = tuple(dataset(center=center, train=train) for train in (True, False))
        everyone.append(
            participant_of(
                f"center {center}",
                parts,
                test_fraction=config.data.test_fraction,
                seed=seed,
                feature_range=config.data.feature_range,
            )
        )
    return alike(everyone)


OWN = {"files": from_files, "python": from_function, "flamby": from_centers}
"""What loads data that somebody brings, by `data.source`."""
