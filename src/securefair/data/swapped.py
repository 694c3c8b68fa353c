"""Whether two codes, such as yes and no, are swapped somewhere: those of the label, or of a column.

What a column says of the outcome is one figure a hospital: how many standard errors its correlation
with the outcome lies from 0. Where several columns point clearly one way at one hospital and the
other way at another, and none clearly the same way, the codes of the label are the likelier reason
than the patients.

Else three things speak for a column whose codes are swapped: the share of the upper code is
mirrored (92 % at one hospital, 6 to 11 % at the others), or what the column says of the outcome is
reversed, or what it says of a measurement (men are taller). The first two must be beyond chance,
with Bonferroni's correction for all columns. Where the shares are mirrored and the column says the
same of the outcome everywhere, the patients differ, not the codes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.special import bdtrc, ndtri

from securefair.data.findings import EVERYONE, Finding
from securefair.data.leaks import Classes
from securefair.data.relations import (
    Array,
    Pulls,
    Tables,
    coded,
    correlation,
    measurements,
    numbers_of,
    of_two,
    outcome_of,
    pulls_of,
)

CLEAR, COLUMNS = 2.5, 2
"""Standard errors from which a column points one way, and columns that must be opposed."""

CHANCE = 0.01
"""Of any swapped column among all, where hospitals differ by chance alone."""

APART, MIRRORED = 2 / 3, 0.15
"""Share of one code from which it is not about half of the patients; and how far the shares may be
from adding up to 1: codes that are swapped change no share, they mirror it."""

STRONG, MOST_PAIRS = 0.5, 4000
"""Correlation with a measurement, either way, from which a reversed one is told: whatever hospitals
are for, it seldom turns by as much; and pairs of columns that are looked at."""


def swapped_codes(
    tables: Tables, label: str, *, joined: bool, known: Sequence[str] = ()
) -> Iterator[Finding]:
    """Codes that look swapped at some hospital: the label's, or where those are not, columns'.

    Args:
        tables: by site, each with the shapes of its columns; two or more tell something.
        label: the column to predict.
        joined: whether spellings that differ in case only are one code.
        known: columns that say what is known of a patient where that is no class, the label first.
            They are looked at as well, such as whether an event came.
    """
    told = [
        one
        for name in (known[1:] if known else (label,))
        for one in _opposed(tables, name, joined=joined)
    ]
    # Where the label itself is swapped, every column says the opposite of what it should.
    yield from told or _turned(tables, label, joined=joined, known=known)


def _opposed(tables: Tables, label: str, *, joined: bool) -> Iterator[Finding]:
    """Pairs of hospitals whose columns point in opposite directions, of a label of two codes."""
    classes = {
        site: Classes.of(table.columns[label], shapes[label], joined=joined)
        for site, (table, shapes) in tables.items()
    }
    if len({one.names for one in classes.values()}) != 1:
        return
    outcomes = {site: of_two(one) for site, one in classes.items()}
    pulls = {
        name: pulls_of(values, outcomes)
        for name in {name for table, _ in tables.values() for name in table.columns}
        if name != label and (values := numbers_of(name, tables, joined=joined))
    }
    for one, other in combinations(tables, 2):
        clear = {
            name: of_site[one] * of_site[other]
            for name, of_site in pulls.items()
            if min(abs(of_site.get(one, 0.0)), abs(of_site.get(other, 0.0))) >= CLEAR
        }
        against = sorted(name for name, both in clear.items() if both < 0)
        if len(against) < COLUMNS or len(against) < len(clear):
            continue
        yield Finding(
            site=EVERYONE,
            column=label,
            line=None,
            kind="opposed_classes",
            message=f"{', '.join(against)} speak for one code at {one} and for the other code at "
            f"{other}: the two codes may be swapped at one of them",
            remedy="Ask what each code means there, before anything is learnt from both",
            severity="grave",
        )


def _turned(tables: Tables, label: str, *, joined: bool, known: Sequence[str]) -> Iterator[Finding]:
    """Columns of two codes that look swapped."""
    ranked = bool(known)  # what is predicted is a number
    outcomes = {
        site: outcome_of(table.columns[label], shapes[label], is_class=not ranked, joined=joined)
        for site, (table, shapes) in tables.items()
    }
    columns = {
        name: two
        for name in next(iter(tables.values()))[0].columns
        if name != label and (two := coded(name, tables, joined=joined)) is not None
    }
    measured = measurements(tables, {label, *known})
    for name, (codes, of_site) in columns.items():
        pulls = pulls_of(of_site, outcomes)
        shares = {site: float(np.nanmean(values)) for site, values in of_site.items()}
        chance = CHANCE / len(columns)
        groups = _mirrored(of_site, chance)
        told = ""
        if groups is not None and not _alike(groups, pulls):
            told = (
                f'{_percent(groups[0], shares)} of the patients have "{codes[1]}", and '
                f"{_percent(groups[1], shares)}"
            )
        elif (against := _against(name, of_site, measured, len(columns))) is not None:
            groups, other = against
            higher, lower = (_named(group) for group in groups)
            told = (
                f'"{codes[1]}" goes with higher {other} at {higher}, and with lower {other} at '
                f"{lower}"
            )
        elif (groups := _reversed(pulls, chance)) is not None:
            ways = ("higher", "lower") if ranked else ("one class", "the other class")
            one, other = (
                f"{way} {'' if ranked else 'of '}{label} at {_named(group)}"
                for way, group in zip(ways, _ordered(groups, pulls), strict=True)
            )
            told = f'"{codes[1]}" goes with {one}, and with {other}'
        if groups is not None and told:
            few = min(groups, key=len)
            yield Finding(
                site=few[0] if len(few) < max(map(len, groups)) and len(few) == 1 else EVERYONE,
                column=name,
                line=None,
                kind="turned_codes",
                message=f"{told}: the two codes may be swapped at one of them",
                remedy="Ask what each code means there, before anything is learnt from both; "
                "nothing to do if the patients differ so",
                severity="grave",
            )


Groups = tuple[list[str], list[str]]


def _against(
    name: str,
    of_site: Mapping[str, Array],
    measured: Mapping[str, Mapping[str, Array]],
    columns: int,
) -> tuple[Groups, str] | None:
    """Hospitals where the upper code goes with a higher measurement, those where it goes with a
    lower one, and the measurement; None where no strong relation is turned round."""
    if columns * len(measured) > MOST_PAIRS:
        return None
    for other, values in measured.items():
        if other == name:
            continue
        related = {site: correlation(codes, values[site])[0] for site, codes in of_site.items()}
        if min(map(abs, related.values())) < STRONG:
            continue
        groups = (
            [site for site, r in related.items() if r > 0],
            [site for site, r in related.items() if r < 0],
        )
        if all(groups):
            return groups, other
    return None


def _mirrored(of_site: Mapping[str, Array], chance: float) -> Groups | None:
    """Hospitals where most have the upper code, and where few have it; None if neither.

    Where each has one code only, it is a name of the hospital and not a measurement.
    """
    groups: Groups = ([], [])
    if not any(np.isin([0, 1], values).all() for values in of_site.values()):
        return None
    having, of = [0, 0], [0, 0]
    for site, values in of_site.items():
        known = values[np.isfinite(values)]
        at = int(known.mean() <= 0.5)
        groups[at].append(site)
        having[at] += int(known.sum())
        of[at] += len(known)
    if not (groups[0] and groups[1]):
        return None
    upper, lower = having[0] / of[0], having[1] / of[1]
    if upper < APART or lower > 1 - APART or abs(upper + lower - 1) > MIRRORED:
        return None
    # Of half of the patients as many by chance, on both sides: the larger of the two.
    sure = max(2 * bdtrc(having[0] - 1, of[0], 0.5), 2 * bdtrc(of[1] - having[1] - 1, of[1], 0.5))
    return groups if sure < chance else None


def _together(sites: Sequence[str], pulls: Pulls) -> float:
    """One figure of several hospitals, by Stouffer's sum."""
    return sum(pulls[site] for site in sites) / math.sqrt(len(sites))


def _alike(groups: Groups, pulls: Pulls) -> bool:
    """Whether the column clearly says the same of the outcome on both sides."""
    one, other = (_together(group, pulls) for group in groups)
    return one * other > 0 and min(abs(one), abs(other)) >= CLEAR


def _reversed(pulls: Pulls, chance: float) -> Groups | None:
    """The hospital at which a column says the opposite of what it says at all others."""
    sites = list(pulls)
    alone = sites if len(sites) > 2 else sites[:1]
    clear = -float(ndtri(chance / (2 * len(alone))))
    for site in alone:
        others = [one for one in sites if one != site]
        against = _together(others, pulls)
        if pulls[site] * against < 0 and min(abs(pulls[site]), abs(against)) >= clear:
            same = [one for one in others if pulls[one] * pulls[site] > 0]
            if all(abs(pulls[one]) < CLEAR for one in same):
                return [site], others
    return None


def _ordered(groups: Groups, pulls: Pulls) -> Groups:
    """Those at which the upper code goes with higher numbers first."""
    return groups if _together(groups[0], pulls) > 0 else (groups[1], groups[0])


def _percent(sites: Sequence[str], shares: Mapping[str, float]) -> str:
    ends = sorted(round(100 * shares[site]) for site in sites)
    span = f"{ends[0]}" if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"
    return f"at {_named(sites)} {span}%"


def _named(sites: Sequence[str]) -> str:
    return ", ".join(sites[:5]) + (f" and {len(sites) - 5} others" if len(sites) > 5 else "")
