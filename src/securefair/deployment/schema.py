"""Agreeing on a table's rules between sites that may not see each other's rows.

Each site proposes rules from its own table: names, kinds, levels that enough of its patients have,
ranges rounded outwards. Proposals are compared, every difference comes with a remedy, and what all
sign in the end stands in the project. A proposal tells its readers nothing else of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from securefair.data import Row, infer_table, summarise
from securefair.data.table import Binary, Categorical, Image, Numeric, Rule, TableSpec, code
from securefair.errors import ConfigError, DataError

AT_LEAST = 5
"""Patients who must share a level before it is named, unless the site says otherwise."""


@dataclass(frozen=True)
class Proposal:
    """One site's rules.

    Attributes:
        spec: the rules.
        unused: columns that are no features, with the reason.
        rare: of a column, how many levels are not named since too few patients have them.
    """

    spec: TableSpec
    unused: Mapping[str, str]
    rare: Mapping[str, int]


@dataclass(frozen=True)
class Difference:
    """Where two proposals do not agree, and what to do."""

    column: str
    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.column}: {self.found}. {self.remedy}"


def propose(
    rows: Sequence[Row],
    *,
    label: str,
    at_least: int = AT_LEAST,
    missing: Sequence[str] = ("",),
) -> Proposal:
    """Rules from one site's own rows.

    Args:
        rows: of its table, at least one.
        label: the column to predict.
        at_least: patients who must share a level, or a class, before it is named.
        missing: codes of a missing value.

    Raises:
        ConfigError: `at_least` is below 1.
        DataError: no rules can be found, or a class has fewer patients than that.
    """
    if at_least < 1:
        raise ConfigError("out of range", where="at_least", found=at_least, expected="1 or more")
    kept, rare = [], {}
    for column in summarise(rows, missing):
        counts = Counter(
            code(row.fields[column.name]) for row in rows if row.fields[column.name] not in missing
        )
        common = {level for level, count in counts.items() if count >= at_least}
        if column.name == label and len(common) < len(counts):
            raise DataError(
                "a class has too few patients to be named",
                where=f"column {label}",
                found=min(counts.values()),
                expected=f"at least {at_least} of each class",
                hint="Join classes in the project's table.classes",
            )
        if column.low is not None and column.name != label and len(counts) > 2:
            kept.append(column)  # a range names no level
            continue
        levels = tuple(level for level in column.levels if level in common)
        if len(levels) < len(column.levels):
            rare[column.name] = len(column.levels) - len(levels)
        kept.append(replace(column, levels=levels))
    inferred = infer_table({"this site": kept}, label=label, missing=missing)
    unshared = {column.name for column in kept if column.name in rare and not column.levels}
    why = f"no value is shared by {at_least} patients"
    return Proposal(
        inferred.spec,
        {name: why if name in unshared else reason for name, reason in inferred.unused.items()},
        {name: count for name, count in rare.items() if name not in unshared},
    )


def differences(proposals: Mapping[str, TableSpec]) -> list[Difference]:
    """Everything in which proposals differ, by column in the order of the first.

    Args:
        proposals: rules by site, two or more.
    """
    found: list[Difference] = []
    (first, spec), *others = proposals.items()
    for name, other in others:
        if other.target.name != spec.target.name:
            found.append(
                Difference(
                    spec.target.name,
                    f"{first} predicts it, {name} predicts {other.target.name}",
                    "Predict one column of one name everywhere",
                )
            )
        elif set(other.target.groups) != set(spec.target.groups):
            found.append(
                Difference(
                    spec.target.name,
                    f"classes of {first}: {_groups(spec)}; of {name}: {_groups(other)}",
                    "Name in table.classes every code, with codes that mean the same in one class",
                )
            )
    columns = {name: {one.name: one for one in each.columns} for name, each in proposals.items()}
    for wanted in dict.fromkeys(one for each in columns.values() for one in each):
        having = {name: each[wanted] for name, each in columns.items() if wanted in each}
        lacking = [name for name in proposals if name not in having]
        if lacking:
            found.append(
                Difference(
                    wanted,
                    f"no feature at {', '.join(lacking)}",
                    "Name the column alike everywhere, add it with missing values, or leave it out",
                )
            )
        found += _in_column(wanted, having)
    return found


def joined(proposals: Mapping[str, TableSpec]) -> tuple[TableSpec, dict[str, str]]:
    """The rules that cover all proposals: the remedies of `differences`, carried out.

    Ranges and levels are joined, and a value may be missing where one site says so. A column that
    a site lacks, or that is of different kinds, is left out.

    Args:
        proposals: rules by site, two or more.

    Returns:
        The rules, and the columns that are left out, with the reason.

    Raises:
        ConfigError: sites predict different columns or classes, or no column is left.
    """
    (first, spec), *others = proposals.items()
    for name, other in others:
        if (other.target.name, set(other.target.groups)) != (
            spec.target.name,
            set(spec.target.groups),
        ):
            raise ConfigError(
                "the sites predict different classes",
                where=name,
                found=f"{other.target.name}: {_groups(other)}",
                expected=f"{spec.target.name}: {_groups(spec)}, as at {first}",
                hint="Name in table.classes every code, and propose again",
            )
    columns, left_out = list[Rule](), dict[str, str]()
    having = [{one.name: one for one in each.columns} for each in proposals.values()]
    for wanted in dict.fromkeys(name for each in having for name in each):
        found = [each[wanted] for each in having if wanted in each]
        lacking = [name for name, each in zip(proposals, having, strict=True) if wanted not in each]
        column = None if lacking else _cover(found)
        if column is None:
            images = any(isinstance(one, Image) for one in found)
            why = "images: add them by hand, with the weights" if images else "other kinds"
            left_out[wanted] = f"no feature at {', '.join(lacking)}" if lacking else why
        else:
            columns.append(column)
    if not columns:
        raise ConfigError("no column is a feature at every site", expected="one at least")
    missing = tuple(dict.fromkeys(code for each in proposals.values() for code in each.missing))
    return structs.replace(spec, columns=tuple(columns), missing=missing), left_out


def _cover(columns: Sequence[Rule]) -> Rule | None:
    """One column that takes every value of the others; None where they are of different kinds."""
    first = columns[0]
    optional = any(one.optional for one in columns)
    match first:
        case Numeric():
            numeric = [one for one in columns if isinstance(one, Numeric)]
            low, high = min(one.low for one in numeric), max(one.high for one in numeric)
            same = len(numeric) == len(columns)
            return structs.replace(first, low=low, high=high, optional=optional) if same else None
        case Binary():
            same = all(_said(one) == _said(first) for one in columns if isinstance(one, Binary))
            same = same and all(isinstance(one, Binary) for one in columns)
            return structs.replace(first, optional=optional) if same else None
        case Categorical():
            named = [one.levels for one in columns if isinstance(one, Categorical)]
            levels = tuple(dict.fromkeys(level for each in named for level in each))
            same = len(named) == len(columns)
            return structs.replace(first, levels=levels, optional=optional) if same else None
        case Image():
            return None  # a rule does not say where its weights lie


def _in_column(name: str, columns: Mapping[str, Rule]) -> list[Difference]:
    kinds = {site: type(one).__name__.lower() for site, one in columns.items()}
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{kind} at {site}" for site, kind in kinds.items())
        return [Difference(name, listed, "Agree on one kind; a table may need other codes")]
    found = []
    said = {site: _said(one) for site, one in columns.items()}
    optional = {one.optional for one in columns.values()}
    if len(optional) > 1:
        always = ", ".join(site for site, one in columns.items() if not one.optional)
        found.append(
            Difference(
                name, f"may be missing, but never is at {always}", "Say optional = true everywhere"
            )
        )
    if len(set(said.values())) > 1:
        cover = _cover(list(columns.values()))
        found.append(
            Difference(
                name,
                "; ".join(f"{text} at {site}" for site, text in said.items()),
                "Agree on one file of weights and one setting"
                if any(isinstance(one, Image) for one in columns.values())
                else f"Agree on {_said(cover) if cover else 'two codes'}, and on what the codes "
                "mean",
            )
        )
    return found


def _said(column: Rule) -> str:
    match column:
        case Numeric():
            return f"{column.low:g} to {column.high:g}"
        case Binary():
            return f"{column.no} or {column.yes}"
        case Categorical():
            return ", ".join(column.levels)
        case Image():
            return f"{column.features} features of {column.architecture}, {column.sha256[:12]}..."


def _groups(spec: TableSpec) -> str:
    return " | ".join(", ".join(codes) for codes in spec.target.groups)
