"""Heart disease at four real hospitals: the UCI table that ships with the package.

Licence, citation, investigators and corrections: heart.LICENSE.md beside the table.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from securefair.config import defaults
from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data.dataset import ParticipantData
from securefair.data.encoding import encode
from securefair.data.rows import Row, parse_rows
from securefair.data.split import hold_out
from securefair.data.table import TableSpec, Target

HOSPITALS = ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")

CLASSES = ("no heart disease", "heart disease")

HEART_SPEC = TableSpec(
    columns=(
        # Adults of any age.
        NumericColumn(name="age", low=20, high=90),
        BinaryColumn(name="sex", no="0", yes="1"),
        CategoricalColumn(name="cp", levels=("1", "2", "3", "4")),
        # From hypotension (below 90 mmHg) to hypertensive crisis (180 mmHg and above).
        NumericColumn(name="trestbps", low=80, high=200, optional=True),
        # Desirable is below 200 mg/dl, high from 240; above 400 mostly familial disease.
        NumericColumn(name="chol", low=100, high=400, optional=True),
        BinaryColumn(name="fbs", no="0", yes="1", optional=True),
        CategoricalColumn(name="restecg", levels=("0", "1", "2"), optional=True),
        # From a resting pulse to 220, the rule of thumb's limit (220 minus the age in years).
        NumericColumn(name="thalach", low=60, high=220, optional=True),
        BinaryColumn(name="exang", no="0", yes="1", optional=True),
        # 1 mm of ST depression is a positive exercise test, 2 mm strongly so; less than none is
        # elevation, which the column's definition does not mean.
        NumericColumn(name="oldpeak", low=0, high=4, optional=True),
        CategoricalColumn(name="slope", levels=("1", "2", "3"), optional=True),
        # Three major coronary vessels, by definition.
        NumericColumn(name="ca", low=0, high=3, optional=True),
        CategoricalColumn(name="thal", levels=("3", "6", "7"), optional=True),
    ),
    # UCI: 0 is no vessel narrowed by more than half, 1 to 4 are disease.
    target=Target(name="num", groups=(("0",), ("1", "2", "3", "4")), names=CLASSES),
)
"""Public rules of the heart table: 13 columns become 32 features in [-1, 1]; class 1 is disease.

The ranges come from general clinical knowledge and the columns' definitions, never from the
statistics of a hospital.
"""


def load_heart(seed: int, test_fraction: float = defaults.TEST_FRACTION) -> list[ParticipantData]:
    """The four hospitals, in the order of `HOSPITALS`, each with its own patients held out.

    Args:
        seed: of the stratified draw; each hospital's draw is independent of the others'.
        test_fraction: of each hospital, in (0, 1).

    Returns:
        Cleveland (303 patients), Hungary (294), Switzerland (123) and VA Long Beach (200), with
        features (B, 32) in [-1, 1] and labels 0 (no disease) or 1 (disease). Hungary and VA Long
        Beach each hold one duplicate record, whose copies may fall on both sides of the split.

    Raises:
        ConfigError: `test_fraction` is not in (0, 1).
    """
    return [
        hold_out(
            name,
            encode([row for row in heart_rows() if row.fields["hospital"] == name], HEART_SPEC),
            test_fraction,
            seed,
        )
        for name in HOSPITALS
    ]


@cache
def heart_rows() -> tuple[Row, ...]:
    """The 920 records as they stand in the table, column `hospital` included."""
    text = files("securefair.data").joinpath("heart.csv").read_text(encoding="utf-8")
    return tuple(parse_rows(text.splitlines(keepends=True), source="heart.csv"))
