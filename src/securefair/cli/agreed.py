"""What a project says, as its sites read it before they sign, and once they have."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from securefair.report.telling import say

if TYPE_CHECKING:
    from securefair.collaboration.agreement import Agreement
    from securefair.config.columns import ColumnRule
    from securefair.sites.project.project import Project
    from securefair.sites.project.terms import Terms
    from securefair.sites.site.folder import SiteSettings

MOST_COLUMNS, MOST_GROUPS = 200, 10
"""That are listed; of more their number is said. A column that nobody reads may have any range."""

WIDTH = 98
"""Of a line of columns."""


def agreed_lines(project: Project, own: str = "") -> list[str]:
    """What a project says, a line each, with what to think of, best before signing.

    Args:
        project: as it is read.
        own: the hospital that reads it, whose group is named; "" for all groups.

    Raises:
        ConfigError, PlanError: as `agreement_of`.
    """
    from securefair.report.wording import sensitivity_of
    from securefair.sites.project.agreeing import (
        agreement_of,
        cautions_of,
        classes_of,
        predicted_in,
        rounds_of,
    )

    settings, totals = project.terms.project, project.terms.config.disclosure
    lines = [f"{settings.name}, digest {project.digest.hex()}"]
    for card in project.cards:
        state = "signed" if card.name in project.signatures else "NOT SIGNED"
        lines.append(f"  {card.name}: {state}\n    {card.spoken}")
    agreement = agreement_of(project)
    lines.append(
        f"{settings.algorithm}, rounds: {rounds_of(project.terms)}; {agreement.summary}\nAt most "
        f"{totals.student_total} numbers to one student, {totals.teacher_total} of one teacher"
    )
    lines += table_lines(project.terms)
    lines += group_lines(agreement, own)
    lines += [f"Predicts {predicted}"] if (predicted := predicted_in(project.terms)) else []
    said = sensitivity_of(classes_of(project.terms), table=project.terms.config.table is not None)
    lines += [said] if said else []
    # `site init` takes signed projects only: what binds is to be thought of all the same.
    signed = own in project.signatures if own else not project.unsigned
    before = "Signed, and to think of" if signed else "Before you sign"
    return lines + [f"{before}: {one}" for one in cautions_of(project)]


def table_lines(terms: Terms) -> list[str]:
    """The label and every column, with kind and range or number of levels; none of arrays."""
    table = terms.config.table
    if table is None:
        return []
    told = "" if table.label_range is None else f", {_range(*table.label_range)}"
    whose = "" if table.patient_column is None else f"; {table.patient_column} names patients"
    columns = [column_text(rule) for rule in table.columns if rule.kind != "ignored"]
    listed = ", ".join(columns[:MOST_COLUMNS])
    more = f", and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    said = f"Columns ({len(columns)}): {listed}{more}"
    # White space in names becomes blanks: nobody writes lines of its own into what others read.
    label = " ".join(f"Label: {table.label}{told}{whose}".split())
    return [label, *textwrap.wrap(said, WIDTH, subsequent_indent="  ")]


def column_text(rule: ColumnRule) -> str:
    """A column in a few words, such as "age (numeric, 20 to 90)"."""
    match rule.kind:
        case "numeric":
            said = _range(rule.low, rule.high)
        case "binary":
            said = f"{rule.no} or {rule.yes}"
        case "categorical":
            said = f"{len(rule.levels)} levels"
        case "image":
            said = f"{rule.features} features"
    return f"{rule.name} ({rule.kind}, {said})"


def groups_in(agreement: Agreement) -> list[tuple[str, ...]]:
    """Who exchanges with whom: all, or groups of hospitals, each in the order of names."""
    names = agreement.participants
    groups = {frozenset((name, *agreement.met_by(name))): None for name in names}
    return [tuple(name for name in names if name in group) for group in groups]


def group_lines(agreement: Agreement, own: str = "") -> list[str]:
    """Who stands in a group, where there are several."""
    groups = groups_in(agreement)
    if len(groups) == 1:
        return []
    shown = [group for group in groups if own in group] or groups[:MOST_GROUPS]
    lines = [
        f"{f'Group of {own}' if own in group else 'A group'}, {len(group)} of "
        f"{len(agreement.participants)} sites: {', '.join(group)}"
        for group in shown
    ]
    left = len(groups) - len(shown)
    lines += [f"And {left} more groups"] if left and own not in shown[0] else []
    return [
        *lines,
        "Whoever writes the project chooses its seed and the order of its cards, and so who stands "
        "in a group.",
    ]


def say_own_findings(settings: SiteSettings, project: Project, *, json: bool) -> None:
    """What to look at in the own table, such as ranges that clip most patients: a line each, with
    JSON on standard error."""
    from securefair.data.findings import said_of
    from securefair.sites.site.samples import own_findings

    found = own_findings(settings.name, settings.data, project.terms, settings.columns)
    for one in found:
        if one.severity != "note":
            say(f"WARNING: {said_of(one)}", err=json)


def _range(low: float, high: float) -> str:
    return f"{low:g} to {high:g}"
