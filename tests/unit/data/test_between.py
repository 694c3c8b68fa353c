"""Findings that take all hospitals' columns together."""

import pytest

from securefair.config.defaults import MISSING
from securefair.data.between import findings_between, site_columns
from securefair.data.findings import EVERYONE
from securefair.data.rows import parse_rows
from securefair.data.shape import shapes_of


@pytest.mark.parametrize(("most", "told"), [(4, False), (12, True)])
def test_many_whole_numbers_are_hardly_classes(most, told):
    lines = [f"{20 + n},{n % (most + 1)}\n" for n in range(80)]
    made = parse_rows(["age,ill\n", *lines], "t.csv")
    sites = {"north": site_columns(made, shapes_of(made, MISSING))}
    between = [one for one in findings_between(sites, label="ill") if one.site == EVERYONE]
    assert [one.kind for one in between] == ["classes_of_numbers"] * told
    if told:
        assert "the 13 classes are whole numbers, 0 to 12" in between[0].message
        assert "--outcome" in between[0].remedy
