"""What was found in tables, one finding a line; imports nothing that plans or runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from securefair.data.findings import Finding, said_of

_STYLES = {"refusal": "red", "grave": "red", "warning": "yellow", "note": "dim"}


def findings_report(findings: Sequence[Finding]) -> RenderableType:
    """What to look at in the tables, one line each."""
    return Group(*(Text(line, style=_STYLES[one.severity]) for one, line in told(findings)))


def told(findings: Sequence[Finding]) -> Iterator[tuple[Finding, str]]:
    """Findings with their lines. Of notes of a kind, and of what is said of whole files in the same
    words, the first stands for all: among thirty lines of commas a warning is not seen."""
    alike: dict[Hashable, list[Finding]] = {}
    for at, one in enumerate(findings):
        whole = one.column is None and one.line is None
        same = (one.kind, one.remedy) if one.severity == "note" else (one.kind, one.message)
        alike.setdefault(same if one.severity == "note" or whole else at, []).append(one)
    for first, *others in alike.values():
        sites = list(dict.fromkeys(one.site for one in others))
        more = f" {len(others)} more of this kind: {', '.join(sites)}." if others else ""
        yield first, line_of(first) + more


def line_of(finding: Finding) -> str:
    """A finding in one line: where, what, and what to do."""
    said = said_of(finding)
    place = finding.column is not None or finding.line is not None
    return f"{finding.site}{', ' if place else ': '}{said}"
