"""Findings as lines of a terminal."""

from securefair.cli.findings import told
from securefair.data.findings import Finding


def finding(site, column=None, line=None, kind="decimal_comma", message="m", severity="note"):
    return Finding(
        site=site,
        column=column,
        line=line,
        kind=kind,
        message=message,
        remedy="Nothing to do",
        severity=severity,
    )


def test_notes_of_a_kind_are_one_line_and_warnings_are_all_there():
    code = {"kind": "encoding", "message": "no UTF-8", "severity": "warning"}
    slip = {"kind": "outlier", "severity": "warning"}
    lines = [
        line
        for _, line in told(
            [
                finding("lyon", **code),
                finding("dole", **code),
                finding("lyon", "crp", 3, **slip),
                finding("dole", "crp", 3, **slip),
                finding("lyon", "crp", 2, message="7,9"),
                finding("lyon", "cost", 2, message="10,2"),
                finding("dole", "crp", 2, message="8,9"),
                finding("dole", line=1, kind="separator"),
            ]
        )
    ]
    assert lines == [
        "lyon: no UTF-8. Nothing to do. 1 more of this kind: dole.",
        "lyon, column crp, line 3: m. Nothing to do.",
        "dole, column crp, line 3: m. Nothing to do.",
        "lyon, column crp, line 2: 7,9. Nothing to do. 2 more of this kind: lyon, dole.",
        "dole, line 1: m. Nothing to do.",
    ]
