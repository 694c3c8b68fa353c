"""Rules for a table that has none yet, from what each participant proposes for its own columns.

Rows stay where they are: only proposals meet (`proposal`). Still, the rules then tell everyone
something of everyone's data. Ranges and levels known beforehand (`TableSpec`) tell nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.config.columns import (
    BinaryColumn,
    CategoricalColumn,
    ColumnRule,
    NumericColumn,
    OwnColumn,
    code,
)
from securefair.data.headings import are_alike
from securefair.data.known import is_ranged
from securefair.data.proposal import ColumnProposal, Proposal, check_classes, number
from securefair.data.shape import MAX_LEVELS
from securefair.data.table import TableSpec, Target
from securefair.data.unlike import check_shared, mixed
from securefair.errors import ConfigError, DataError

_NAMES_SITES = "one value at each participant, so that it tells whose patient it is"


@dataclass(frozen=True)
class InferredTable:
    """Rules that cover all proposals.

    Attributes:
        spec: the rules for everyone.
        unused: why some columns are no features for everyone.
        further: by participant, rules of columns that it has and others have not; each from its own
            proposal alone.
    """

    spec: TableSpec
    unused: Mapping[str, str]
    further: Mapping[str, tuple[OwnColumn, ...]]


def infer_table(
    proposals: Mapping[str, Proposal],
    *,
    joined: bool = False,
    given: Sequence[ColumnRule] = (),
    target: Target | None = None,
) -> InferredTable:
    """Rules for everyone, of what everyone proposes.

    Two numbers or texts make a binary column, other numbers a numeric one, up to `MAX_LEVELS` texts
    a categorical one. A range covers everyone's, and a value may be missing where one says so.
    Columns that not everyone has are left out for everyone, and so are those that look like
    identifiers, names or dates (`identifying`), never vary, name the participant or are empty.
    That is guesswork: who uses the rules must look, too.

    Args:
        proposals: of each participant, by name.
        joined: take levels that differ in case or white space only for one.
        given: rules that need no inference, which come last.
        target: what is predicted where that is no class; None: what the proposals say, or the
            classes that occur.

    Raises:
        ConfigError: participants predict different columns, or agreed on different classes.
        DataError: the label does not vary or is spelt in several ways, or no column can be used.
    """
    label = _label(proposals)
    common, unused = _common(proposals)
    columns: list[ColumnRule] = []
    for parts in common:
        name = parts[0].name
        if name == label or name in {rule.name for rule in given}:
            continue
        column = rule_of(parts, list(proposals), joined=joined)
        if isinstance(column, str):
            unused[name] = column
        else:
            columns.append(column)
    target = target or _proposed_target(label, proposals)
    target = target or Target(name=label, groups=infer_classes(proposals, joined=joined))
    columns += given
    if not columns:
        raise DataError(
            "no column can be used as a feature",
            found="; ".join(f"{name}: {why}" for name, why in unused.items())
            or f"no column beside {label}",
            hint="Describe the columns in [[table.columns]]",
        )
    spec = TableSpec(
        columns=tuple(columns),
        target=target,
        missing=tuple(dict.fromkeys(one for each in proposals.values() for one in each.missing)),
        spellings="joined" if joined else "exact",
    )
    further = _further(proposals, [*(rule.name for rule in given), *target.beside], joined=joined)
    return InferredTable(spec, unused, further)


def _further(
    proposals: Mapping[str, Proposal], known: Sequence[str], *, joined: bool
) -> dict[str, tuple[OwnColumn, ...]]:
    """Of each participant, rules of columns that not everyone has, in the order of its table."""
    every = [{one.name for one in each.columns} for each in proposals.values()]
    common, names = set.intersection(*every), set.union(*every)
    found = {}
    for site, each in proposals.items():
        rules = [
            rule_of([one], [site], joined=joined)
            for one in each.columns
            if one.name not in {*common, *known}
            and not any(are_alike(one.name, name) for name in names - {one.name})
        ]
        if own := tuple(rule for rule in rules if not isinstance(rule, str)):
            found[site] = own
    return found


def _proposed_target(label: str, proposals: Mapping[str, Proposal]) -> Target | None:
    """What participants predict where it is no class, in a range that covers theirs."""
    first, *others = proposals.values()
    for site, other in zip(list(proposals)[1:], others, strict=True):
        if (other.outcome, other.beside) != (first.outcome, first.beside):
            raise ConfigError(
                "the participants predict different outcomes",
                where=f"participant {site}",
                found=said_outcome(other),
                expected=said_outcome(first),
            )
    if not first.outcome:
        return None
    parts = [one for each in proposals.values() for one in each.columns if one.name == label]
    lows = [one.low for one in parts if one.low is not None]
    highs = [one.high for one in parts if one.high is not None]
    within = (min(lows), max(highs)) if lows and is_ranged(first.outcome) else None
    return Target(name=label, outcome=first.outcome, beside=first.beside, range=within)


def agreed_patients(proposals: Mapping[str, Proposal]) -> str:
    """The column by which all say whose each row is; "" where they name several, or some none."""
    names = {one.patient_column for one in proposals.values()}
    return names.pop() if len(names) == 1 else ""


def said_outcome(proposal: Proposal) -> str:
    """What a proposal predicts, as people read it."""
    if not proposal.outcome:
        return f"classes of {proposal.label}"
    return f"{proposal.outcome}: {', '.join((proposal.label, *proposal.beside))}"


def infer_classes(
    proposals: Mapping[str, Proposal], *, joined: bool = False
) -> tuple[tuple[str, ...], ...]:
    """The classes that are agreed on, or the codes that occur anywhere, one class each, in order.

    Raises:
        ConfigError: participants predict different columns, or agreed on different classes.
        DataError: the codes do not name a few classes, or are spelt in several ways.
    """
    label = _label(proposals)
    agreed = {site: one.classes for site, one in proposals.items() if one.classes}
    for site, groups in agreed.items():
        if set(groups) != set(next(iter(agreed.values()))):
            raise ConfigError(
                "the participants agreed on different classes",
                where=f"participant {site}",
                found=said_classes(groups),
                expected=said_classes(next(iter(agreed.values()))),
            )
    if agreed:
        groups = next(iter(agreed.values()))
    else:
        parts = [
            column for one in proposals.values() for column in one.columns if column.name == label
        ]
        _check_spelling(label, parts, joined=joined)
        check_shared(parts, list(proposals), joined=joined)
        groups = tuple((level,) for level in _in_order(_levels(parts, joined=joined)))
    check_classes(groups, label)
    return groups


def rule_of(
    parts: Sequence[ColumnProposal], sites: Sequence[str], *, joined: bool = False
) -> NumericColumn | BinaryColumn | CategoricalColumn | str:
    """The rule that covers what each participant says of a column, or why there is none.

    Args:
        parts: of each, one column.
        sites: their names.
        joined: take levels that differ in case or white space only for one.
    """
    unused = [part.unused for part in parts if part.unused]
    if unused:
        return unused[0]
    filled = [part for part in parts if part.present]  # an empty column is of every kind
    if not filled:
        rare = any(part.rare for part in parts)
        return "no value is shared by enough patients" if rare else "empty"
    if _names_sites(parts):
        return _NAMES_SITES
    column = _column(parts, filled, joined=joined)
    return (mixed(filled, _names(parts, sites)) or column) if isinstance(column, str) else column


def said_classes(groups: Sequence[Sequence[str]]) -> str:
    """Classes as people read them: "0 | 1, 2"."""
    return " | ".join(", ".join(codes) for codes in groups)


def _names(parts: Sequence[ColumnProposal], sites: Sequence[str]) -> list[str]:
    return [site for site, part in zip(sites, parts, strict=True) if part.present]


def _label(proposals: Mapping[str, Proposal]) -> str:
    """The column that all predict."""
    (first, label), *others = [(site, one.label) for site, one in proposals.items()]
    for site, other in others:
        if other != label:
            raise ConfigError(
                "the participants predict different columns",
                where=f"participant {site}",
                found=other,
                expected=f"{label}, as at {first}",
            )
    return label


def _common(
    proposals: Mapping[str, Proposal],
) -> tuple[list[list[ColumnProposal]], dict[str, str]]:
    """What all say of the columns that all have, in the first one's order; the other columns."""
    by_name = {site: {one.name: one for one in each.columns} for site, each in proposals.items()}
    shared = set.intersection(*(set(columns) for columns in by_name.values()))
    order = list(dict.fromkeys(name for columns in by_name.values() for name in columns))
    others = {}
    for name in order:
        if name not in shared:
            having = [site for site, columns in by_name.items() if name in columns]
            alike = sorted({one for one in order if one != name and are_alike(one, name)})
            others[name] = f"only in the table of {', '.join(having)}"
            others[name] += f'; others have "{alike[0]}"' if alike else ""
    common = [[columns[name] for columns in by_name.values()] for name in order if name in shared]
    return common, others


def _column(
    parts: Sequence[ColumnProposal], filled: Sequence[ColumnProposal], *, joined: bool
) -> NumericColumn | BinaryColumn | CategoricalColumn | str:
    name, optional = parts[0].name, any(part.optional for part in parts)
    missing = tuple(sorted({one for part in parts for one in part.missing}))
    apart = {part.tells_rows_apart for part in filled} - {None} == {True}
    levels = _in_order(_levels(filled, joined=joined))
    lows = [part.low for part in filled if part.low is not None]
    highs = [part.high for part in filled if part.high is not None]
    measured = any(part.measured for part in filled)
    if len(levels) == 1 and not measured:
        rare = any(part.rare for part in parts)
        return "only one value is shared by enough patients" if rare else "always the same"
    if len(levels) == 2 and not measured:
        return BinaryColumn(
            name=name, no=levels[0], yes=levels[1], optional=optional, missing=missing
        )
    if len(lows) == len(filled):
        if apart:
            return "whole numbers that never repeat, as identifiers do"
        if min(lows) == max(highs):
            return "always the same"
        return NumericColumn(
            name=name, low=min(lows), high=max(highs), optional=optional, missing=missing
        )
    if any(part.measured and (part.rare or not part.levels) for part in filled):
        return "numbers and texts"
    if max(len(levels), *(len(part.levels) + part.rare for part in parts)) > MAX_LEVELS:
        return f"more than {MAX_LEVELS} different texts"
    if apart:
        return "texts that hardly repeat, as names do"
    return CategoricalColumn(name=name, levels=tuple(levels), optional=optional, missing=missing)


def _names_sites(parts: Sequence[ColumnProposal]) -> bool:
    """Whether a column has one value at each participant, and not the same at all.

    Nobody's patients tell what it means, and a model that learns it learns whose they are.
    """
    constant = all(len(part.levels) == 1 and not part.optional and not part.rare for part in parts)
    return constant and len({part.levels for part in parts}) > 1


def _levels(parts: Sequence[ColumnProposal], *, joined: bool) -> tuple[str, ...]:
    """Different levels, sorted; where spellings are joined, the first of each in that order."""
    once: dict[str, str] = {}
    for level in sorted({level for part in parts for level in part.levels}):
        once.setdefault(code(level, joined=joined), level)
    return tuple(once.values())


def _check_spelling(label: str, parts: Sequence[ColumnProposal], *, joined: bool) -> None:
    """Refuse classes that are spelt in several ways."""
    spelt: dict[str, list[str]] = {}
    for level in _levels(parts, joined=False):
        spelt.setdefault(code(level, joined=True), []).append(level)
    variants = [names for names in spelt.values() if len(names) > 1]
    if variants and not joined:
        raise DataError(
            "classes differ in their spelling only",
            where=f"column {label}",
            found="; ".join(" and ".join(names) for names in variants),
            hint='Spell them alike, or say spellings = "joined" in [table] '
            "(--join-spellings of securefair new and securefair project check)",
        )


def _in_order(levels: Sequence[str]) -> list[str]:
    """Numbers by size, then texts."""
    return sorted(levels, key=lambda level: (number(level) is None, number(level) or 0.0, level))
