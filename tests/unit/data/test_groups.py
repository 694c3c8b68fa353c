import numpy as np
import pytest

from securefair.data.cells import Table, column_of
from securefair.data.groups import MISSING, groups_of
from securefair.errors import DataError


def table(**columns):
    cells = {name: column_of([str(one) for one in values]) for name, values in columns.items()}
    return Table("own.csv", cells, lambda at: at + 2)


def test_few_values_are_groups_as_they_stand():
    found = groups_of(table(sex=["f", "m", "f", ""]), ["sex"])
    assert found["sex"].tolist() == ["f", "m", "f", MISSING]


def test_a_measurement_is_halved_at_its_median():
    ages = [*range(20, 40), "?"]
    found = groups_of(table(age=ages), ["age"])["age"]
    assert (found[:10] == "up to 29.5").all()
    assert (found[10:20] == "above 29.5").all()
    assert found[20] == MISSING
    assert len(np.unique(found)) == 3


@pytest.mark.parametrize(
    ("columns", "asked", "why"),
    [
        ({"sex": ["f"]}, "ward", "no such column"),
        ({"name": [f"n{at}" for at in range(20)]}, "name", "makes no groups"),
    ],
)
def test_other_columns_are_refused(columns, asked, why):
    with pytest.raises(DataError, match=why):
        groups_of(table(**columns), [asked])
