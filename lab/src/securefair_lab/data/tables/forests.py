"""The tables that FairSL grows random forests on; none has a test part.

Ranges cover every value that occurs: a forest only sees the order of numbers, and scaling by a
public range keeps it. Codes of categories are numbers here too, as FairSL's forests take them;
a network would want one feature a level.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from securefair.config import NumericColumn
from securefair.data import Samples, TableSpec, Target
from securefair_lab.data.folder import DataFile, read_arrays
from securefair_lab.data.pool import DataSet, pool_of
from securefair_lab.data.tables.reading import read_samples

Range = tuple[float, float]

COIMBRA_FILE = DataFile(
    name="coimbra.csv.gz",
    origin="UCI data set 451 (Patrício et al. 2018, CC BY 4.0) with classes Yes and No",
)
MATERNAL_FILE = DataFile(
    name="maternal.csv.gz", origin="UCI data set 863 (Ahmed, Kashem 2020, CC BY 4.0)"
)
AUCTION_FILE = DataFile(
    name="auction.csv.gz", origin="UCI data set 713 (Ordoni et al. 2022, CC BY 4.0)"
)
STUDENTS_FILE = DataFile(
    name="students.csv.gz",
    origin="UCI data set 697 (Realinho et al. 2022, CC BY 4.0) with names in snake case",
)
NATICUS_FILE = DataFile(
    name="naticus.npz",
    origin="UCI data set 722 (Mathur et al. 2021, CC BY 4.0): arrays X, y",
)


def _numbers(ranges: dict[str, Range], target: Target) -> TableSpec:
    return TableSpec(
        columns=tuple(
            NumericColumn(name=name, low=low, high=high) for name, (low, high) in ranges.items()
        ),
        target=target,
    )


COIMBRA_SPEC = _numbers(
    {
        "Age": (20, 90),
        "BMI": (15, 45),
        "Glucose": (50, 250),
        "Insulin": (0, 100),
        "HOMA": (0, 30),
        "Leptin": (0, 100),
        "Adiponectin": (0, 50),
        "Resistin": (0, 100),
        "MCP.1": (0, 2000),
    },
    Target(name="Classification", groups=(("No",), ("Yes",))),
)
MATERNAL_SPEC = _numbers(
    {
        "Age": (10, 70),
        "SystolicBP": (60, 180),
        "DiastolicBP": (40, 120),
        "BS": (5, 20),
        "BodyTemp": (95, 105),
        "HeartRate": (5, 120),
    },
    Target(name="RiskLevel", groups=(("low risk",), ("mid risk",), ("high risk",))),
)
AUCTION_SPEC = _numbers(
    {
        **{f"process.b{bidder}.capacity": (0, 3) for bidder in range(1, 5)},
        "property.price": (50, 100),
        "property.product": (1, 6),
        "property.winner": (0, 4),
    },
    Target(name="verification.result", groups=(("False",), ("True",))),
)
STUDENTS_SPEC = _numbers(
    {
        "marital_status": (1, 6),
        "application_mode": (1, 57),
        "application_order": (0, 9),
        "course": (1, 9999),
        "daytime_evening_attendance": (0, 1),
        "previous_qualification": (1, 43),
        "previous_qualification_grade": (0, 200),
        "nationality": (1, 109),
        "mothers_qualification": (1, 44),
        "fathers_qualification": (1, 44),
        "mothers_occupation": (0, 200),
        "fathers_occupation": (0, 200),
        "admission_grade": (0, 200),
        "displaced": (0, 1),
        "educational_special_needs": (0, 1),
        "debtor": (0, 1),
        "tuition_fees_up_to_date": (0, 1),
        "gender": (0, 1),
        "scholarship_holder": (0, 1),
        "age_at_enrollment": (15, 80),
        "international": (0, 1),
        **{
            f"curricular_units_{semester}_sem_{what}": (0.0, high)
            for semester in ("1st", "2nd")
            for what, high in (
                ("credited", 30.0),
                ("enrolled", 30.0),
                ("evaluations", 50.0),
                ("approved", 30.0),
                ("grade", 20.0),
                ("without_evaluations", 15.0),
            )
        },
        "unemployment_rate": (0, 20),
        "inflation_rate": (-5, 5),
        "gdp": (-5, 5),
    },
    Target(name="target", groups=(("Dropout",), ("Enrolled",), ("Graduate",))),
)


def load_coimbra(folder: Path) -> DataSet:
    """Breast cancer in Coimbra: 116 women, 9 features; class 1 is ill (64).

    Raises:
        DataError: coimbra.csv.gz is not in the folder, or is no such table. So for all below.
    """
    return _load(folder, "coimbra", COIMBRA_FILE, COIMBRA_SPEC)


def load_maternal(folder: Path) -> DataSet:
    """Maternal health risk: 1,014 records, 6 features; low (406), mid (336) and high risk (272).

    562 records repeat an earlier one, so that copies fall on both sides of any random split.
    """
    return _load(folder, "maternal", MATERNAL_FILE, MATERNAL_SPEC)


def load_auction(folder: Path) -> DataSet:
    """Auction verification: 2,043 runs, 7 features; class 1 is verified (262)."""
    return _load(folder, "auction", AUCTION_FILE, AUCTION_SPEC)


def load_students(folder: Path) -> DataSet:
    """Students' dropout: 4,423 students, 36 features; dropout, enrolled and graduate."""
    return _load(folder, "students", STUDENTS_FILE, STUDENTS_SPEC)


def load_naticus(folder: Path) -> DataSet:
    """NATICUSdroid: 20,531 Android apps, 86 permissions as 0 and 1; class 1 is malware.

    The labelled 70 % of the published set. Only 5,714 feature vectors differ, so that copies fall
    on both sides of any random split.
    """
    x, y = read_arrays(NATICUS_FILE.find(folder), "X", "y")
    samples = Samples(x.astype(np.float64), y.astype(np.int64), classes=2)
    return DataSet(name="naticus", train=pool_of(samples))


def _load(folder: Path, name: str, file: DataFile, spec: TableSpec) -> DataSet:
    return DataSet(name=name, train=pool_of(read_samples(file.find(folder), spec)))
