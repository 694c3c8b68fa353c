import re
from types import SimpleNamespace

import pytest

from securefair_lab.runs.latex import _told_once, escape, fairness_table, table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VA & Co_1 100%", r"VA \& Co\_1 100\%"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("0.5 \u00b1 0.1", r"0.5 $\pm$ 0.1"),
        ("\u22120.5", "$-$0.5"),
        ("two\nlines", "two lines"),
        ("[north]", "{[}north]"),
    ],
)
def test_no_name_is_a_command(text, expected):
    assert escape(text) == expected


def test_a_table_has_as_many_columns_as_headings():
    text = table(["A", "B", "C"], [["a & b", "1", "2"]], caption="50% of #1")
    assert r"\begin{tabular}{lrr}" in text
    (row,) = [line for line in text.splitlines() if line.startswith("a ")]
    assert len(re.findall(r"(?<!\\)&", row)) == 2
    assert text.count(r"\begin") == text.count(r"\end") == 2


def test_equal_columns_are_told_once():
    """Of ten classes "Balanced accuracy" and "Sensitivity" were one column, printed twice."""
    rows = [["a", "1", "2", "1", "", ""], ["b", "3", "2", "3", "", ""]]
    headings, cells = _told_once(["Name", "A", "B", "C", "D", "E"], rows)
    assert headings == ["Name", "A = C", "B", "D", "E"]
    assert cells == [["a", "1", "2", "", ""], ["b", "3", "2", "", ""]]
    assert _told_once(["Name", "A"], []) == (["Name", "A"], [])


def test_a_fairness_study_has_its_table():
    one = SimpleNamespace(
        mva=0.5771, mva_spread=0.01, mcg=-0.016, mcg_spread=0.02, cgs=0.026, cgs_spread=0.003
    )
    result = SimpleNamespace(participants=[0] * 5, seeds=[0, 1], algorithms={"cycle": one})
    text = fairness_table(result)
    assert r"Algorithm & MVA & MCG & CGS \\" in text
    assert r"CYCle & 57.7 $\pm$ 1.0 & $-$1.6 $\pm$ 2.0 & 2.6 $\pm$ 0.3 \\" in text
    result.seeds = [0]
    assert r"CYCle & 57.7 & $-$1.6 & 2.6 \\" in fairness_table(result)
