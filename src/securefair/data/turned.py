"""Whether a column of two codes, such as yes and no, is coded the other way round somewhere.

Three things speak for that: the share of the upper code is mirrored (92 % at one hospital, 6 to
11 % at the others), or what the column says of the outcome is reversed, or what it says of a
measurement (men are taller). The first two must be beyond chance, with Bonferroni's correction for
all columns. Where the shares are mirrored and the column says the same of the outcome everywhere,
the patients differ, not the codes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, ndtri

from securefair.config.columns import code
from securefair.data.cells import Column, Table
from securefair.data.findings import EVERYONE, Finding
from securefair.data.leaks import Classes
from securefair.data.opposed import CLEAR, LEAST, pull
from securefair.data.shape import Shape

CHANCE = 0.01
"""Of any such finding among all columns, where hospitals differ by chance alone."""

APART, MIRRORED = 2 / 3, 0.15
"""Share of one code from which it is not about half of the patients; and how far the shares may be
from adding up to 1: codes that are swapped change no share, they mirror it."""

STRONG, MOST_PAIRS = 0.5, 4000
"""Correlation with a measurement, either way, from which a reversed one is told: whatever hospitals
are for, it seldom turns by as much; and pairs of columns that are looked at."""

Tables = Mapping[str, tuple[Table, Mapping[str, Shape]]]


def turned_codes(
    tables: Tables, label: str, *, joined: bool, known: Sequence[str] = ()
) -> Iterator[Finding]:
    """Columns of two codes that look swapped at some hospital.

    Args:
        tables: by site, each with the shapes of its columns; two or more tell something.
        label: the column to predict.
        joined: whether spellings that differ in case only are one code.
        known: columns that say what is known of a patient where that is no class, the label first.
            They are looked at as well, such as whether an event came.
    """
    outcomes = {
        site: _outcome(table.columns[label], shapes[label], is_class=not known, joined=joined)
        for site, (table, shapes) in tables.items()
    }
    columns = {
        name: coded
        for name in next(iter(tables.values()))[0].columns
        if name != label and (coded := _coded(name, tables, joined=joined)) is not None
    }
    measured = _measurements(tables, {label, *known})
    for name, (codes, of_site) in columns.items():
        pulls = {site: pull(values, outcomes[site]) for site, values in of_site.items()}
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
            ways = ("higher", "lower") if known else ("one class", "the other class")
            one, other = (
                f"{way} {'' if known else 'of '}{label} at {_named(group)}"
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


def _outcome(column: Column, shape: Shape, *, is_class: bool, joined: bool) -> NDArray[np.float64]:
    """(B,) of the label: 0 and 1 of two classes, or the number; NaN of others."""
    if not is_class:
        return shape.values[column.codes]
    classes = Classes.of(column, shape, joined=joined)
    if len(classes.names) != 2:
        return np.full(len(column.codes), np.nan)
    return np.where(classes.of_row >= 0, classes.of_row.astype(np.float64), np.nan)


def _coded(
    name: str, tables: Tables, *, joined: bool
) -> tuple[tuple[str, str], dict[str, NDArray[np.float64]]] | None:
    """The two codes of a column, and each hospital's values as 0 and 1 (NaN: missing).

    None where the codes of all are not two, or fewer than two hospitals have enough patients.
    """
    spelt: dict[str, list[str]] = {}
    for site, (table, shapes) in tables.items():
        if name not in table.columns or np.count_nonzero(shapes[name].counted) > 2:
            return None
        spelt[site] = [code(text, joined=joined) for text in table.columns[name].texts]
    codes = sorted(
        {
            one
            for site, (_, shapes) in tables.items()
            for one, counts in zip(spelt[site], shapes[name].counted, strict=True)
            if counts
        }
    )
    if len(codes) != 2:
        return None
    result = {}
    for site, (table, shapes) in tables.items():
        upper = np.array([float(one == codes[1]) for one in spelt[site]])
        values = np.where(shapes[name].counted, upper, np.nan)[table.columns[name].codes]
        if np.isfinite(values).sum() >= LEAST:
            result[site] = values
    return None if len(result) < 2 else ((codes[0], codes[1]), result)


Groups = tuple[list[str], list[str]]


def _measurements(tables: Tables, outcome: set[str]) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Columns of numbers of all hospitals, each hospital's values by row, (B,)."""
    first = next(iter(tables.values()))[0]
    return {
        name: {
            site: shapes[name].values[table.columns[name].codes]
            for site, (table, shapes) in tables.items()
        }
        for name in first.columns
        if name not in outcome
        and all(
            name in shapes and shapes[name].numeric and np.isfinite(shapes[name].values).sum() > 2
            for _, shapes in tables.values()
        )
    }


def _against(
    name: str,
    of_site: Mapping[str, NDArray[np.float64]],
    measured: Mapping[str, Mapping[str, NDArray[np.float64]]],
    coded: int,
) -> tuple[Groups, str] | None:
    """Hospitals where the upper code goes with a higher measurement, those where it goes with a
    lower one, and the measurement; None where no strong relation is turned round."""
    if coded * len(measured) > MOST_PAIRS:
        return None
    for other, values in measured.items():
        if other == name:
            continue
        related = {site: _correlation(codes, values[site]) for site, codes in of_site.items()}
        if min(map(abs, related.values())) < STRONG:
            continue
        groups = (
            [site for site, r in related.items() if r > 0],
            [site for site, r in related.items() if r < 0],
        )
        if all(groups):
            return groups, other
    return None


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    known = np.isfinite(one) & np.isfinite(other)
    if known.sum() < LEAST or np.ptp(one[known]) == 0 or np.ptp(other[known]) == 0:
        return 0.0
    return float(np.corrcoef(one[known], other[known])[0, 1])


def _mirrored(of_site: Mapping[str, NDArray[np.float64]], chance: float) -> Groups | None:
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


def _together(sites: Sequence[str], pulls: Mapping[str, float]) -> float:
    """One figure of several hospitals, by Stouffer's sum."""
    return sum(pulls[site] for site in sites) / math.sqrt(len(sites))


def _alike(groups: Groups, pulls: Mapping[str, float]) -> bool:
    """Whether the column clearly says the same of the outcome on both sides."""
    one, other = (_together(group, pulls) for group in groups)
    return one * other > 0 and min(abs(one), abs(other)) >= CLEAR


def _reversed(pulls: Mapping[str, float], chance: float) -> Groups | None:
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


def _ordered(groups: Groups, pulls: Mapping[str, float]) -> Groups:
    """Those at which the upper code goes with higher numbers first."""
    return groups if _together(groups[0], pulls) > 0 else (groups[1], groups[0])


def _percent(sites: Sequence[str], shares: Mapping[str, float]) -> str:
    ends = sorted(round(100 * shares[site]) for site in sites)
    span = f"{ends[0]}" if ends[0] == ends[-1] else f"{ends[0]} to {ends[-1]}"
    return f"at {_named(sites)} {span}%"


def _named(sites: Sequence[str]) -> str:
    return ", ".join(sites[:5]) + (f" and {len(sites) - 5} others" if len(sites) > 5 else "")
