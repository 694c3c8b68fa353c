"""The hospitals on which docs/notebook/worth.md measures what collaboration is worth.

Where a table comes without public rules they are made as `securefair new` makes them: every
hospital proposes for itself and the proposals are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.data.encoding import encode
from securefair.data.heart import HEART_SPEC, HOSPITALS, heart_rows
from securefair.data.inference import infer_table
from securefair.data.proposal import propose
from securefair.data.rows import Row, read_rows
from securefair.data.split import stratified_rows
from securefair.data.table import TableSpec
from securefair_lab.data.folder import data_folder
from securefair_lab.data.tables.forests import MATERNAL_FILE, STUDENTS_FILE

Rows = Sequence[Row]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Hospital:
    """Training and test patients, and the numbers of the latter among all patients of the set."""

    name: str
    train: Samples
    test: Samples
    patients: Numbers


@dataclass(frozen=True)
class DataSet:
    """A table divided among hospitals anew for every seed.

    Args:
        rows: all patients, once.
        divide: seed -> the rows of each hospital, by name.
        most: training patients a hospital keeps, drawn by the seed; None for all.
        label, classes: the column to predict and its codes; None with a specification of its own.
    """

    rows: Callable[[], Rows]
    divide: Callable[[Rows, np.random.Generator], Mapping[str, Numbers]]
    most: int | None = None
    label: str = ""
    classes: tuple[tuple[str, ...], ...] = ()
    spec: TableSpec | None = None

    def hospitals(self, seed: int) -> list[Hospital]:
        rng = np.random.default_rng([seed, 1])
        rows = self.rows()
        parts = self.divide(rows, rng)
        spec = self.spec or _proposed(
            {name: [rows[i] for i in part] for name, part in parts.items()},
            self.label,
            self.classes,
        )
        result = []
        for name, part in parts.items():
            samples = encode([rows[i] for i in part], spec)
            train, test = stratified_rows(samples.labels, 1 / 3, rng)
            train = rng.permutation(train)[: self.most]
            result.append(Hospital(name, samples.take(train), samples.take(test), part[test]))
        return result


def _proposed(
    tables: Mapping[str, Rows], label: str, classes: tuple[tuple[str, ...], ...]
) -> TableSpec:
    proposals = {
        name: propose(rows, label=label, classes=classes, at_least=1)
        for name, rows in tables.items()
    }
    return infer_table(proposals).spec


def _by(column: str, most: int | None = None) -> Callable[..., Mapping[str, Numbers]]:
    """Those of one value each, the most frequent ones first."""

    def divide(rows: Rows, _rng: np.random.Generator) -> Mapping[str, Numbers]:
        values = np.array([row.fields[column] for row in rows])
        names, counts = np.unique(values, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:most]
        return {str(names[i]): np.flatnonzero(values == names[i]) for i in order}

    return divide


def at_random(number: int) -> Callable[..., Mapping[str, Numbers]]:
    def divide(rows: Rows, rng: np.random.Generator) -> Mapping[str, Numbers]:
        parts = np.array_split(rng.permutation(len(rows)), number)
        return {f"clinic {i}": part for i, part in enumerate(parts, start=1)}

    return divide


def _clinics(rows: Rows, rng: np.random.Generator) -> Mapping[str, Numbers]:
    """Each hospital of the heart data as three clinics."""
    result = {}
    for name, part in _by("hospital")(rows, rng).items():
        for i, clinic in enumerate(np.array_split(rng.permutation(part), 3), start=1):
            result[f"{name} {i}"] = clinic
    return result


@cache
def _cleveland() -> Rows:
    return [row for row in heart_rows() if row.fields["hospital"] == HOSPITALS[0]]


@cache
def _maternal() -> Rows:
    """Without the records that repeat an earlier one."""
    rows = read_rows(MATERNAL_FILE.find(data_folder()))
    return list({tuple(row.fields.values()): row for row in reversed(rows)}.values())[::-1]


@cache
def _students() -> Rows:
    return read_rows(STUDENTS_FILE.find(data_folder()))


_RISK = (("low risk", "mid risk"), ("high risk",))
_RISKS = (("low risk",), ("mid risk",), ("high risk",))
_DROPOUT = (("Graduate", "Enrolled"), ("Dropout",))
_STATES = (("Dropout",), ("Enrolled",), ("Graduate",))

GOALS = ("heart, 20", "heart as 12 clinics, 30", "Cleveland 5 x 40", "maternal 5 x 60",
         "students 6 x 80")  # fmt: skip
"""Those on which the goals are stated."""

DATA_SETS: Mapping[str, DataSet] = MappingProxyType({
    "heart, 20": DataSet(heart_rows, _by("hospital"), 20, spec=HEART_SPEC),
    "heart, 40": DataSet(heart_rows, _by("hospital"), 40, spec=HEART_SPEC),
    "heart, all": DataSet(heart_rows, _by("hospital"), spec=HEART_SPEC),
    "heart as 12 clinics, 30": DataSet(heart_rows, _clinics, 30, spec=HEART_SPEC),
    "Cleveland 5 x 40": DataSet(_cleveland, at_random(5), 40, spec=HEART_SPEC),
    "maternal 5 x 60": DataSet(_maternal, at_random(5), 60, "RiskLevel", _RISK),
    "students 6 x 80": DataSet(_students, _by("course", 6), 80, "target", _DROPOUT),
    "maternal, 3 classes": DataSet(_maternal, at_random(5), 60, "RiskLevel", _RISKS),
    "students, 3 classes": DataSet(_students, _by("course", 6), 80, "target", _STATES),
})  # fmt: skip
