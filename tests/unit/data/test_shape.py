"""Numbers that no measurement has: no statistic overflows on them, and they are named.

Warnings are errors here, so whatever overflowed would fail.
"""

import numpy as np
import pytest

from securefair.config.columns import NumericColumn
from securefair.data.cells import Table, column_of
from securefair.data.encoding import encode_features, encode_new
from securefair.data.quality import site_findings
from securefair.data.relations import correlation
from securefair.data.shape import LARGEST, shapes_of
from securefair.data.table import TableSpec, Target

AGE = NumericColumn(name="age", low=20, high=90)
SPEC = TableSpec(columns=(AGE,), target=Target(name="ill", groups=(("0",), ("1",))))


def table(*ages):
    columns = {
        "age": column_of(list(ages)),
        "ill": column_of([str(at % 2) for at in range(len(ages))]),
    }
    return Table("own.csv", columns, lambda at: at + 2)


def ages(count=40):
    return [f"{20 + 1.5 * at:g}" for at in range(count)]


@pytest.mark.parametrize("slip", ["1e155", "-1.7e308"])
def test_one_is_far_from_all_others(slip):
    own = table(*ages(), slip)
    shapes = shapes_of(own, [""])
    age, codes = shapes["age"], own.columns["age"].codes
    assert age.outliers == (40,)
    assert (age.low, age.high) == (20.0, 78.5)
    ill = shapes["ill"].values[own.columns["ill"].codes]
    assert abs(correlation(age.values[codes], ill)[0]) < 1
    found = list(site_findings("north", own, shapes, label="ill"))
    (far,) = [one for one in found if one.kind == "outlier"]
    assert (far.column, far.line, far.values) == ("age", 42, (slip,))


@pytest.mark.parametrize("scale", [1e155, 1e306])
@pytest.mark.parametrize("signs", [(1, 1), (1, -1)])
def test_statistics_of_a_column_of_them_are_numbers(scale, signs):
    own = table(*[f"{signs[at % 2] * float(one) * scale:g}" for at, one in enumerate(ages())])
    shapes = shapes_of(own, [""])
    age, codes = shapes["age"], own.columns["age"].codes
    assert (np.abs(age.values) == LARGEST).all()
    ill = shapes["ill"].values[own.columns["ill"].codes]
    together, patients = correlation(age.values[codes], ill)
    assert together == pytest.approx(0.0 if signs[1] > 0 else -1.0)
    assert patients == 40
    list(site_findings("north", own, shapes, label="ill"))  # none overflows


@pytest.mark.parametrize("slip", ["1e155", "1.7e308"])
def test_they_count_as_the_end_of_the_range(slip):
    own = table(*ages(), slip, f"-{slip}")
    assert encode_features(own, SPEC)[-2:, 0].tolist() == [1.0, -1.0]
    features, (filled,) = encode_new(own, SPEC, np.array([0.25]))
    assert 1e100 < features[-2, 0] < np.inf  # beyond the range, which is warned of
    assert filled.texts == (f"-{slip}",)  # nothing is below a range from 0 on
