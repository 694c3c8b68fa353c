import numpy as np
import pytest

from securefair.config.columns import NumericColumn
from securefair.data.encoding import encode
from securefair.data.fitting import class_findings, label_findings, range_findings
from securefair.data.rows import parse_rows
from securefair.data.table import TableSpec, Target
from securefair.errors import DataError

AGES = [20 + n % 60 for n in range(80)]


def table(ages=AGES):
    lines = [f"{age},{'no' if n % 2 else 'yes'}\n" for n, age in enumerate(ages)]
    return parse_rows(["age,ill\n", *lines], "t.csv")


def said(low, high, ages=AGES):
    rule = NumericColumn(name="age", low=low, high=high, missing=("-9",))
    return list(range_findings("north", table(ages), [rule], ("",)))


@pytest.mark.parametrize(("low", "high", "severity"), [(60, 90, "grave"), (30, 90, "warning")])
def test_patients_beyond_a_given_range_are_counted(low, high, severity):
    (one,) = said(low, high)
    clipped = sum(not low <= age <= high for age in AGES)
    assert (one.kind, one.column, one.severity) == ("clipped", "age", severity)
    assert f"{clipped} of 80 patients lie beyond the range {low} to {high}" in one.message
    assert "values here are 20 to 79" in one.message


def test_a_range_that_fits_and_codes_of_missing_values_are_no_finding():
    assert said(20, 90) == []
    assert said(20, 90, [*AGES, *["-9"] * 20]) == []
    assert said(20, 78, AGES) == []  # one patient


@pytest.mark.parametrize(("low", "high"), [(2000, 9000), (50.1, 50.2)])
def test_a_range_that_clips_everybody_is_refused(low, high):
    spec = TableSpec(
        columns=(NumericColumn(name="age", low=low, high=high),),
        target=Target(name="ill", groups=(("no",), ("yes",))),
    )
    with pytest.raises(DataError, match="clips every patient") as refused:
        encode(table(), spec)
    assert "found 'values 20 to 79'" in str(refused.value)
    assert np.isfinite(encode(table([20, 30]), spec).features).all()  # too few to say


def test_a_class_of_nobody_is_told():
    tables = {"north": table(), "south": table()}
    (one,) = class_findings(tables, "ill", [["no"], ["yes"], ["maybe"]], joined=False)
    assert (one.kind, one.severity) == ("class_of_nobody", "grave")
    assert '"maybe"' in one.message
    assert list(class_findings(tables, "ill", [["NO"], ["YES"]], joined=True)) == []


def test_a_range_that_makes_values_nearly_equal_is_told():
    (one,) = said(0, 1e6)
    assert (one.kind, one.severity) == ("wide_range", "grave")
    (two,) = said(0, 2000)
    assert (two.kind, two.severity) == ("wide_range", "warning")
    assert said(0, 900) == []


@pytest.mark.parametrize(("high", "clipped"), [(60, 19), (78, 1), (90, 0)])
def test_patients_beyond_the_range_of_the_number_are_told(high, clipped):
    """A description counted them as its end, and models did not."""
    target = Target(name="age", outcome="number", range=(10.0, float(high)))
    found = list(label_findings("north", table(), target, ("",)))
    assert [one.kind for one in found] == ["clipped"] * bool(clipped)
    for one in found:
        assert (
            f"{clipped} of 80 patients lie beyond table.label_range, 10 to {high}," in one.message
        )
        assert one.severity == ("grave" if clipped > 4 else "warning")
