"""What was found in tables, one finding a line; imports nothing that plans or runs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from securefair.data.findings import Finding, said_of

_STYLES = {"refusal": "red", "grave": "red", "warning": "yellow", "note": "dim"}


def findings_report(findings: Sequence[Finding]) -> RenderableType:
    """What to look at in the tables, one finding a line."""
    return Group(*(Text(line_of(one), style=_STYLES[one.severity]) for one in findings))


def line_of(finding: Finding) -> str:
    """A finding in one line: where, what, and what to do."""
    told = said_of(finding)
    place = finding.column is not None or finding.line is not None
    return f"{finding.site}{', ' if place else ': '}{told}"
