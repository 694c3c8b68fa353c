"""One thing to look at in a table, and which of several comes first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from securefair.data.cells import Note
from securefair.errors import SecureFairError

EVERYONE = "everyone"
"""Whose table a finding is in that belongs to no single one."""

Severity = Literal["refusal", "grave", "warning", "note"]
"""How much depends on it, the most first."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to look at.

    Attributes:
        site: whose table.
        column: of the table; None for the whole table.
        line: of the file, of the first such value; None where there is no one place.
        kind: one word or a few with underscores, the same for all findings of a kind.
        message: what was found, and what was made of it.
        remedy: what to do.
        severity: "refusal" where a run would not start, "grave" where its results may be wrong,
            "warning", or "note" where there is nothing to do if it was meant so.
        values: texts of the table that it is about, as they stand there.
    """

    site: str
    column: str | None
    line: int | None
    kind: str
    message: str
    remedy: str
    severity: Severity = "warning"
    values: tuple[str, ...] = ()


def by_weight(findings: Iterable[Finding]) -> list[Finding]:
    """The same, those on which most depends first; otherwise in their order."""
    order = get_args(Severity)
    return sorted(findings, key=lambda one: order.index(one.severity))


def of_weight(findings: Iterable[Finding]) -> list[Finding]:
    """Those that may make results wrong: reports, cards and records carry them."""
    return [one for one in by_weight(findings) if one.severity in ("refusal", "grave")]


def said_of(finding: Finding) -> str:
    """A finding in one line but for whose it is: where, what, and what to do."""
    before = place_of(finding)
    before = f"{before}: " if before else ""
    return f"{before}{finding.message}. {finding.remedy}.".replace("\n", " ")


def place_of(finding: Finding) -> str:
    """Where something was found, and nothing of what; empty for the whole table."""
    where = [] if finding.column is None else [f"column {finding.column}"]
    if finding.line is not None:
        where.append(f"line {finding.line}")
    return ", ".join(where)


def by_site(findings: Iterable[Finding]) -> dict[str, list[str]]:
    """Findings of weight as records have them: lines by whose table it is, the gravest first."""
    told: dict[str, list[str]] = {}
    for one in of_weight(findings):
        told.setdefault(one.site, []).append(said_of(one))
    return told


def refusal(error: SecureFairError) -> Finding:
    """An error as a finding, for programs that read lists of findings."""
    return Finding(
        site="",
        column=None,
        line=None,
        kind="refused",
        message=str(error),
        remedy=error.hint or "",
        severity="refusal",
    )


def noted(site: str, note: Note) -> Finding:
    """What a reader decided, as a finding."""
    return Finding(
        site=site,
        column=note.column,
        line=note.line,
        kind=note.kind.replace(" ", "_"),
        message=note.message,
        remedy=note.remedy,
        severity="note" if note.settled else "warning",
    )
