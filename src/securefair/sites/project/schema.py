"""Where sites that may not see each other's rows propose different rules for their tables.

Each site makes a proposal of its own table (`data.proposal`), and `data.inference` joins them.
Before that people must look at what differs: another range may hide another unit. What all sign in
the end stands in the project.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from securefair.config.columns import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data.inference import rule_of, said_classes, said_outcome
from securefair.data.proposal import ColumnProposal, Proposal


@dataclass(frozen=True)
class Difference:
    """Where two proposals do not agree, and what to do."""

    column: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.column}: {self.found}. {self.remedy}"


def differences(proposals: Mapping[str, Proposal], *, joined: bool = False) -> list[Difference]:
    """Everything in which proposals differ, by column in the order of the first.

    Args:
        proposals: by site, two or more.
        joined: whether levels that differ in case or white space only are one.
    """
    found = list(_of_labels(proposals))
    found += _of_patients(proposals)
    labels = {one.label for one in proposals.values() if not one.outcome}
    labels |= {one.patient_column for one in proposals.values()}
    columns = {site: {one.name: one for one in each.columns} for site, each in proposals.items()}
    for wanted in dict.fromkeys(name for each in columns.values() for name in each):
        if wanted not in labels:
            having = {site: each[wanted] for site, each in columns.items() if wanted in each}
            lacking = [site for site in proposals if site not in having]
            found += _of_column(wanted, having, lacking, joined=joined)
    return found


def _of_labels(proposals: Mapping[str, Proposal]) -> Iterator[Difference]:
    (first, proposal), *others = proposals.items()
    classes = _classes(proposal)
    for name, other in others:
        if other.label != proposal.label:
            yield Difference(
                proposal.label,
                f"{first} predicts it, {name} predicts {other.label}",
                "Predict one column of one name everywhere",
            )
        elif (other.outcome, other.beside) != (proposal.outcome, proposal.beside):
            yield Difference(
                proposal.label,
                f"{first} predicts {said_outcome(proposal)}; {name} predicts {said_outcome(other)}",
                "Predict the same everywhere, from columns of the same names",
            )
        elif set(_classes(other)) != set(classes):
            yield Difference(
                proposal.label,
                f"classes of {first}: {said_classes(classes)}; of {name}: "
                f"{said_classes(_classes(other))}",
                "Where codes mean the same, agree on classes and give them with --class",
            )


def _of_patients(proposals: Mapping[str, Proposal]) -> Iterator[Difference]:
    """Patients are told apart everywhere, or nowhere: the project has one column for them."""
    named = {site: one.patient_column for site, one in proposals.items() if one.patient_column}
    columns = dict.fromkeys(named.values())
    others = [site for site in proposals if site not in named]
    if not columns or (len(columns) == 1 and not others):
        return
    shown = [f"{name} names the patients of {site}" for site, name in named.items()]
    shown += [f"{', '.join(others)} named no such column"] if others else []
    first = next(iter(columns))
    yield Difference(
        first,
        f"{'; '.join(shown)}: every row counts as a patient, and rows of one may be in both parts",
        "Name the column alike in every table, and propose again with --patient-column "
        f"{shlex.quote(first)}",
    )


def _classes(proposal: Proposal) -> tuple[tuple[str, ...], ...]:
    (label,) = [one for one in proposal.columns if one.name == proposal.label]
    return proposal.classes or tuple((level,) for level in label.levels)


def _of_column(
    name: str, parts: Mapping[str, ColumnProposal], lacking: list[str], *, joined: bool
) -> Iterator[Difference]:
    if lacking:
        yield Difference(
            name,
            f"not in the table of {', '.join(lacking)}",
            "Name the column alike everywhere, add it with missing values, or leave it out",
        )
    said = {site: _said(part) for site, part in parts.items()}
    differ = len(set(said.values())) > 1
    shown = "; ".join(f"{text} at {site}" for site, text in said.items())
    rule = rule_of(list(parts.values()), list(parts), joined=joined)
    if isinstance(rule, str):
        if differ:
            yield Difference(
                name,
                shown,
                f"It is no feature ({rule}). Agree on one kind; a table may need other codes",
            )
        return
    optional = {part.optional for part in parts.values()}
    if len(optional) > 1:
        always = ", ".join(site for site, part in parts.items() if not part.optional)
        yield Difference(
            name, f"may be missing, but never is at {always}", "Say optional = true everywhere"
        )
    if differ:
        yield Difference(name, shown, f"Agree on {_covered(rule)}, and on what it means")


def _said(part: ColumnProposal) -> str:
    if part.unused:
        return part.unused
    if part.measured and part.low is not None:
        return f"{part.low:g} to {part.high:g}"
    rare = f"{part.rare} rare" if part.rare else ""
    alone = len(part.levels) == 1 and not part.rare
    named = f"always {part.levels[0]}" if alone else ", ".join(part.levels)
    return " and ".join(text for text in (named, rare) if text) or "empty"


def _covered(rule: NumericColumn | BinaryColumn | CategoricalColumn) -> str:
    match rule:
        case NumericColumn():
            return f"{rule.low:g} to {rule.high:g}"
        case BinaryColumn():
            return f"{rule.no} or {rule.yes}"
        case CategoricalColumn():
            return ", ".join(rule.levels)
