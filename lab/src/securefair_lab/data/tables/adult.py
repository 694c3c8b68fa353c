"""Adult: who earned more than 50,000 dollars, by the census of 1994."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.config import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import Samples, TableSpec, Target, cache_array, content_key, encode, read_rows
from securefair.errors import DataError
from securefair_lab.data.folder import DataFile
from securefair_lab.data.pool import DataSet, pool_of

ADULT_FILE = DataFile(
    name="adult.csv.gz",
    origin="UCI data set 2 (Becker, Kohavi 1996, CC BY 4.0) with a column `split`",
)

ADULT_SPEC = TableSpec(
    columns=(
        NumericColumn(name="age", low=17, high=90),
        CategoricalColumn(
            name="workclass",
            levels=(
                *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov"),
                *("State-gov", "Without-pay", "Never-worked"),
            ),
            optional=True,
        ),
        # `fnlwgt` says how many people a record stands for, `education` the same as this in words.
        NumericColumn(name="education-num", low=1, high=16),
        CategoricalColumn(
            name="marital-status",
            levels=(
                *("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed"),
                *("Married-spouse-absent", "Married-AF-spouse"),
            ),
        ),
        CategoricalColumn(
            name="occupation",
            levels=(
                *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial"),
                *("Prof-specialty", "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical"),
                *("Farming-fishing", "Transport-moving", "Priv-house-serv", "Protective-serv"),
                "Armed-Forces",
            ),
            optional=True,
        ),
        CategoricalColumn(
            name="relationship",
            levels=("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
        ),
        CategoricalColumn(
            name="race",
            levels=("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
        ),
        BinaryColumn(name="sex", no="Female", yes="Male"),
        # Nine in ten have none; above these few differ in the target.
        NumericColumn(name="capital-gain", low=0, high=20_000),
        NumericColumn(name="capital-loss", low=0, high=4_000),
        NumericColumn(name="hours-per-week", low=0, high=100),
        CategoricalColumn(
            name="native-country",
            levels=(
                *("United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany"),
                *("Outlying-US(Guam-USVI-etc)", "India", "Japan", "Greece", "South", "China"),
                *("Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland", "Jamaica"),
                *("Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic"),
                *("Laos", "Ecuador", "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala"),
                *("Nicaragua", "Scotland", "Thailand", "Yugoslavia", "El-Salvador"),
                *("Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands"),
            ),
            optional=True,
        ),
    ),
    target=Target(name="income", groups=(("<=50K",), (">50K",))),
)
"""Public rules of the table; class 1 earns more than 50,000 dollars."""


def load_adult(folder: Path, *, cache: Path | None = None, merged: bool = False) -> DataSet:
    """Adult: 32,561 + 16,281 people, two classes, features float64 (B, 90) in [-1, 1].

    Args:
        folder: where adult.csv.gz is.
        cache: folder to keep the features in (36 MB); None reads the table every time (seconds).
        merged: both parts as one training pool, without a test part; CFFL balances the classes of
            all (`pool.balanced_subset`: 11,687 each) and splits them anew.

    Raises:
        DataError: adult.csv.gz is not in the folder, or is no such table.
    """
    path = ADULT_FILE.find(folder)
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    key = content_key(content, repr(ADULT_SPEC))
    table = cache_array(cache, "adult", key, lambda: _read(path))
    labels, is_test = table[:, -2].astype(np.int64), table[:, -1] > 0
    pool = pool_of(Samples(table[:, :-2], labels, classes=2))
    if merged:
        return DataSet(name="adult", train=pool)
    return DataSet(
        name="adult",
        train=pool.take(np.flatnonzero(~is_test)),
        test=pool.take(np.flatnonzero(is_test)),
    )


def _read(path: Path) -> NDArray[np.float64]:
    """Features, label, and 1 for the test part, in the columns of one array."""
    rows = read_rows(path)
    samples = encode(rows, ADULT_SPEC)
    split = [row.fields.get("split", "") for row in rows]
    unknown = sorted(set(split) - {"train", "test"})
    if unknown:
        raise DataError(
            "unknown code",
            where=f"{path.name}, column split",
            found=", ".join(unknown),
            expected="train, test",
        )
    return np.column_stack([samples.features, samples.labels, [part == "test" for part in split]])
