"""What the tables of several hospitals show beside each other: levels, spellings, units, columns.

Only what each says of its columns meets here, never a row (`shared_rows` compares these).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

import msgspec
import numpy as np

from securefair.config.columns import code
from securefair.data.cells import Column, Table
from securefair.data.findings import EVERYONE, Finding
from securefair.data.shape import MAX_LEVELS, Shape
from securefair.data.units import LEAST, Apart, in_two_units

UNIT_RATIO = 2.0
"""Medians of a measurement at two hospitals differ less, unless their units do."""

LEAST_KNOWN = 20
"""Values of each hospital from which it tells something that they do not meet."""

LEAST_NUMBER = 1000
"""Numbers of files have four digits or more; measurements that large differ by much."""

PREVALENCE = 0.3
"""Difference between the shares of a class at two hospitals that is worth a line."""

NUMBERED = 5
"""Classes that are whole numbers, of which more may count or measure things: grades are fewer."""

MOSTLY = 0.5
"""Share of the rows of a hospital without a value that is worth a line where no other has it."""

OF_SOME_SITES = "column_of_some_sites"
"""Of a finding: a column that not everyone has."""


class SiteColumn(msgspec.Struct, frozen=True, kw_only=True):
    """What one hospital says of a column for the comparison.

    Attributes:
        levels: different texts with how often they occur; of more than `MAX_LEVELS` none.
        lines: of the first row of each level.
        quartiles: of a measurement, or None.
        known: rows that have a value.
        missing: share of the rows that have none.
        ends: smallest and largest of a measurement, or None.
    """

    levels: dict[str, int]
    lines: dict[str, int]
    quartiles: tuple[float, float, float] | None
    known: int = 0
    missing: float = 0.0
    ends: tuple[float, float] | None = None


def site_columns(table: Table, shapes: Mapping[str, Shape]) -> dict[str, SiteColumn]:
    """What one table says of each of its columns."""
    return {
        name: site_column(table, column, shapes[name]) for name, column in table.columns.items()
    }


def site_column(table: Table, column: Column, shape: Shape) -> SiteColumn:
    """What one table says of one of its columns."""
    quartiles = ends = None
    if shape.numeric:
        rows = shape.values[column.codes]
        if np.isfinite(rows).any():
            low, middle, high = np.nanquantile(rows, (0.25, 0.5, 0.75)).tolist()
            quartiles = (low, middle, high)
            ends = (float(np.nanmin(rows)), float(np.nanmax(rows)))
    kept = np.flatnonzero(shape.counted)
    few = kept if len(kept) <= MAX_LEVELS else kept[:0]
    counts = column.counts()
    known = int(counts[shape.counted].sum())
    return SiteColumn(
        levels={column.texts[at]: int(counts[at]) for at in few},
        lines={
            column.texts[at]: table.line_of(column.first(np.arange(column.different) == at))
            for at in few
        },
        quartiles=quartiles,
        known=known,
        missing=1 - known / len(column.codes),
        ends=ends,
    )


def findings_between(
    sites: Mapping[str, Mapping[str, SiteColumn]],
    *,
    label: str | None,
    joined: bool = False,
    same_unit: Collection[str] = (),
) -> Iterator[Finding]:
    """What differs between hospitals.

    Args:
        sites: what each says, by name.
        label: the column to predict; None where that is no class.
        joined: whether spellings that differ in case only are one level.
        same_unit: columns that are said to be in one unit everywhere.
    """
    everywhere = set.intersection(*(set(columns) for columns in sites.values()))
    for site, columns in sites.items():
        for name in columns:
            if name not in everywhere:
                yield Finding(
                    site=site,
                    column=name,
                    line=None,
                    kind=OF_SOME_SITES,
                    message="not every hospital has this column: it is no feature of what is "
                    "learnt together",
                    remedy="Name it alike everywhere, or leave it out",
                )
    order = [name for name in next(iter(sites.values())) if name in everywhere]
    for name in order:
        columns = {site: columns[name] for site, columns in sites.items()}
        yield from _levels(name, columns, joined=joined, is_label=name == label)
        yield from _numbered_anew(name, columns)
        yield from _mostly_missing(name, columns)
        if name != label:
            apart = list(_tells_sites(name, columns))
            yield from apart or (() if name in same_unit else _units(name, columns))
    if label is not None:
        yield from _numbers(
            label, {code(one) for site in sites.values() for one in site[label].levels}
        )
        yield from _prevalence(
            label, {site: columns[label] for site, columns in sites.items()}, joined
        )


def _numbers(label: str, classes: Collection[str]) -> Iterator[Finding]:
    """Classes that are so many whole numbers that they are hardly classes."""
    if len(classes) <= NUMBERED or not all(re.fullmatch(r"-?\d+", one) for one in classes):
        return
    ends = sorted(map(int, classes))
    yield Finding(
        site=EVERYONE,
        column=label,
        line=None,
        kind="classes_of_numbers",
        message=f"the {len(classes)} classes are whole numbers, {ends[0]} to {ends[-1]}: each is "
        "learnt by itself, and none is nearer to another",
        remedy='If they count or measure something, say outcome = "number" or "count" in [table] '
        "(--outcome of securefair new)",
    )


def _numbered_anew(name: str, sites: Mapping[str, SiteColumn]) -> Iterator[Finding]:
    """Two codes that are 0 and 1 at some hospitals, and 1 and 2 at others: 1 has two meanings."""
    coded = {
        site: frozenset(code(level).removesuffix(".0") for level in column.levels)
        for site, column in sites.items()
    }
    others = [site for site, codes in coded.items() if codes == frozenset("12")]
    first = [site for site, codes in coded.items() if codes == frozenset("01")]
    if others and first and len(others) + len(first) == len(sites):
        yield Finding(
            site=others[0],
            column=name,
            line=None,
            kind="two_numberings",
            message=f"the codes are 1 and 2 here and 0 and 1 at {first[0]}: 1 may mean two things",
            remedy="Code it alike everywhere, or leave the column out",
            severity="grave",
        )


def _mostly_missing(name: str, sites: Mapping[str, SiteColumn]) -> Iterator[Finding]:
    """A column that one hospital alone hardly fills in: it is perhaps another one there."""
    missing = {site: column.missing for site, column in sites.items()}
    site = max(missing, key=missing.__getitem__)
    others = [share for one, share in missing.items() if one != site]
    if others and max(others) <= MOSTLY < missing[site] < 1:  # without any value: said elsewhere
        yield Finding(
            site=site,
            column=name,
            line=None,
            kind="mostly_missing",
            message=f"{missing[site]:.0%} of the values are missing here, elsewhere at most "
            f"{max(others):.0%}",
            remedy="Look whether the table was exported whole; leave the column out if it was "
            "measured of few",
        )


def _levels(
    name: str, sites: Mapping[str, SiteColumn], *, joined: bool, is_label: bool
) -> Iterator[Finding]:
    """Levels that only one hospital has, and spellings that differ."""
    if any(not column.levels for column in sites.values()):
        return
    if not is_label and all(column.quartiles for column in sites.values()):
        return  # numbers: a range says all
    spelt: dict[str, dict[str, str]] = {}
    for site, column in sites.items():
        for level in column.levels:
            spelt.setdefault(code(level, joined=True), {}).setdefault(code(level), site)
    for spellings in spelt.values():
        if len(spellings) > 1 and not joined:
            site = list(spellings.values())[-1]
            shown = ", ".join(f'"{one}" ({where})' for one, where in spellings.items())
            yield Finding(
                site=site,
                column=name,
                line=sites[site].lines.get(list(spellings)[-1]),
                kind="spelling",
                message=f"one {'class' if is_label else 'level'} is spelt in several ways: {shown}",
                remedy='Spell it alike, or say spellings = "joined" in [table] '
                "(securefair new --join-spellings)",
                severity="refusal" if is_label else "warning",
            )
    if len(sites) < 2:
        return
    alone: dict[str, list[str]] = {}
    for spelling, spellings in spelt.items():
        if len(spellings) > 1 and not joined:
            continue
        having = [
            site
            for site, column in sites.items()
            if any(code(level, joined=True) == spelling for level in column.levels)
        ]
        if len(having) == 1:
            (site,) = having
            level = next(x for x in sites[site].levels if code(x, joined=True) == spelling)
            alone.setdefault(site, []).append(level)
    for site, levels in alone.items():
        yield _of_one_site(site, name, sites[site], levels, len(spelt), is_label=is_label)


def _of_one_site(
    site: str,
    name: str,
    column: SiteColumn,
    levels: list[str],
    different: int,
    *,
    is_label: bool,
) -> Finding:
    """Levels, or classes, that only this hospital has, of so many different ones of all."""
    shown = ", ".join(f'"{one}" ({column.levels[one]} times)' for one in levels[:3])
    shown += f" and {len(levels) - 3} others" if len(levels) > 3 else ""
    line = column.lines[levels[0]]
    if is_label:
        return Finding(
            site=site,
            column=name,
            line=line,
            kind="class_of_one_site",
            message=f"only this hospital has patients of class {shown}; all hospitals together "
            f"have {different} classes",
            remedy="Nothing to do if that is so; where codes differ, say which make a class in "
            "table.classes (--class of securefair new)",
            severity="grave" if different > 2 else "warning",
        )
    names = len(levels) > 2 and 2 * len(levels) >= len(column.levels)
    return Finding(
        site=site,
        column=name,
        line=line,
        kind="level_of_one_site",
        message=f"only this hospital has {shown}: "
        + ("names, or codes of its own, tell" if names else "it tells")
        + " whose patient it is",
        remedy="Leave the column out (--drop of securefair new)"
        if names
        else "Code it as the others do, join levels, or leave the column out",
        severity="grave" if names else "warning",
    )


def _tells_sites(name: str, sites: Mapping[str, SiteColumn]) -> Iterator[Finding]:
    """Whole numbers of many digits of which no two hospitals have any in common, as of files."""
    known = {site: column for site, column in sites.items() if column.ends}
    if len(known) < 2 or any(column.known < LEAST_KNOWN for column in known.values()):
        return
    ends = sorted(column.ends for column in known.values() if column.ends)
    apart = all(one[1] < other[0] for one, other in pairwise(ends))
    wide = max((one[1] - one[0]) / max(1.0, abs(one[1])) for one in ends)
    whole = all(end.is_integer() for one in ends for end in one)
    if apart and whole and ends[0][0] >= LEAST_NUMBER and wide < 0.1:
        yield Finding(
            site=EVERYONE,
            column=name,
            line=None,
            kind="tells_sites",
            message="no two hospitals have a number in common, as of files or cases: it tells "
            "whose patient it is",
            remedy="Leave the column out (--drop of securefair new)",
            severity="grave",
        )


def apart_in_units(sites: Mapping[str, SiteColumn]) -> Apart | None:
    """Whether a measurement is in two units, by a conversion that is known.

    Args:
        sites: what each hospital says of it, by name.
    """
    known = {site: one.quartiles for site, one in sites.items() if one.quartiles is not None}
    few = any(one.known < LEAST for one in sites.values())
    return None if few or len(known) < len(sites) else in_two_units(known)


def _units(name: str, sites: Mapping[str, SiteColumn]) -> Iterator[Finding]:
    """Measurements whose middle halves do not meet; with a known conversion no run starts."""
    two = apart_in_units(sites)
    if two is not None:
        yield two.finding(name, {site: sites[site].quartiles for site in sites})
        return
    known = {site: c.quartiles for site, c in sites.items() if c.quartiles and c.quartiles[1] > 0}
    if len(known) < 2:
        return
    usual = float(np.median([middle for _, middle, _ in known.values()]))
    for site, (low, middle, high) in known.items():
        others = [one for where, one in known.items() if where != site]
        apart = all(high < first or low > third for first, _, third in others)
        against = usual if len(known) > 2 else others[0][1]
        ratio = max(middle / against, against / middle)
        few = min(column.known for column in sites.values()) < LEAST_KNOWN
        if apart and (ratio >= UNIT_RATIO or not few):
            yield Finding(
                site=site,
                column=name,
                line=None,
                kind="units",
                message=f"half of the values lie between {low:g} and {high:g}, {ratio:.3g} times "
                f"{'higher' if middle > against else 'lower'} than at {_whom(site, known)}: "
                f"the unit{'' if ratio >= UNIT_RATIO else ', or the patients,'} may differ",
                remedy="Convert to the unit that was agreed on, if it is another",
                severity="grave" if ratio >= UNIT_RATIO else "warning",
            )
            if len(known) == 2:
                return


def _whom(site: str, known: Mapping[str, object]) -> str:
    others = [name for name in known if name != site]
    return others[0] if len(others) == 1 else "the other hospitals"


def _prevalence(label: str, sites: Mapping[str, SiteColumn], joined: bool) -> Iterator[Finding]:
    shares: dict[str, dict[str, float]] = {}
    for site, column in sites.items():
        total = sum(column.levels.values())
        for level, count in column.levels.items():
            name = code(level, joined=joined)
            of_site = shares.setdefault(name, {})
            of_site[site] = of_site.get(site, 0.0) + count / total
    for name, by_site in shares.items():
        if len(by_site) < 2 or len(by_site) < len(sites):
            continue
        lowest, highest = (
            min(by_site, key=by_site.__getitem__),
            max(by_site, key=by_site.__getitem__),
        )
        if by_site[highest] - by_site[lowest] >= PREVALENCE:
            yield Finding(
                site=highest,
                column=label,
                line=None,
                kind="prevalence",
                message=f'class "{name}" has {by_site[highest]:.0%} of the patients here and '
                f"{by_site[lowest]:.0%} at {lowest}",
                remedy="Nothing to do where hospitals differ; look at the codes where they should "
                "not",
            )
            if len(shares) == 2:
                return
