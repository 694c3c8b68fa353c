import re

import pytest

from securefair_lab.runs.latex import escape, table


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
