"""What a caller brings -> everyone's samples, whatever is then done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from securefair.collaboration.kinds import kind_of
from securefair.config import RunConfig
from securefair.config.columns import OwnColumn
from securefair.data import ParticipantData, TableSpec
from securefair.data.findings import Finding
from securefair.errors import ConfigError
from securefair.library.classes import Positive, numbered
from securefair.library.hospitals import (
    check_columns,
    check_different,
    participants,
    with_teachers,
)
from securefair.library.tables import participants_of_tables
from securefair.user.data_sets import alike

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, eq=False)
class Brought:
    """Everyone's samples, and what is known of them.

    Attributes:
        data: one entry a hospital.
        rules: of tables, for everyone; None where samples are numbers.
        further: by hospital, rules of columns that not everyone has.
        classes: their names, where no table has them.
        findings: what to look at in tables.
    """

    data: list[ParticipantData]
    rules: TableSpec | None
    further: Mapping[str, Sequence[OwnColumn]]
    classes: Sequence[str] | None
    findings: list[Finding]


def given_data(
    hospitals: Mapping[str, object],
    config: RunConfig,
    *,
    label: str | TableSpec | None,
    positive: Positive = None,
    patient_column: str | None = None,
    extractor: nn.Module | None = None,
    teachers: Mapping[str, object] | None = None,
    at_least: int = 0,
) -> Brought:
    """See `collaborate`, of which these are arguments; `at_least` so many classes.

    Raises:
        ConfigError, DataError: as `collaborate`.
    """
    rules, classes = None, None
    further: Mapping[str, Sequence[OwnColumn]] = {}
    findings: list[Finding] = []
    if label is not None:
        if not isinstance(label, str | TableSpec):
            raise ConfigError(
                "a label is the name of a column",
                where="label",
                found=type(label).__name__,
                expected="text, or securefair.data.TableSpec with all rules",
            )
        if extractor is not None:
            raise ConfigError("a table has no pixels to extract features from", where="extractor")
        takes = all(kind_of(name).takes_own for name in config.run.collaborative)
        data, rules, further, findings = participants_of_tables(
            hospitals, label, config, positive, patient_column=patient_column, further=takes
        )
    elif patient_column is not None:
        raise ConfigError(
            "samples have no columns that name patients",
            where="patient_column",
            found=patient_column,
            expected="tables with a label, or securefair.data.Samples(..., patients=)",
        )
    else:
        check_columns(hospitals)
        named, classes = numbered(hospitals, at_least=at_least, positive=positive)
        data = participants(named, extractor, config)
    data = with_teachers(alike(data, at_least=at_least), teachers or {})
    check_different(data)
    return Brought(data, rules, further, classes, findings)
