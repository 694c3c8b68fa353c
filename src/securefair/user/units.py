"""Units that differ between hospitals stop a run before anything is sent."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from securefair.config import NumericColumn, TableSection
from securefair.data import Proposal
from securefair.data.between import SiteColumn, apart_in_units, site_column
from securefair.data.cells import Table
from securefair.data.shape import shape_of
from securefair.data.units import into_range, named, ranges_in_two_units, remedy
from securefair.errors import DataError


def refuse_two_units(tables: Mapping[str, Table], section: TableSection) -> None:
    """Refuse measurements that are in two units, by a conversion that is known.

    Args:
        tables: by participant.
        section: rules of all columns.

    Raises:
        DataError: names every such column, one of the hospitals, and what to do.
    """
    for name, table in tables.items():
        refuse_other_unit(f"participant {name}", table, section)
    missing = {
        rule.name: [*section.missing, *rule.missing]
        for rule in section.columns
        if isinstance(rule, NumericColumn)
    }
    if section.outcome is not None:
        missing[section.label or ""] = [*section.missing]
    measured = {name: codes for name, codes in missing.items() if name not in section.same_unit}
    found = dict(_in_two_units(tables, measured)) if len(tables) > 1 else {}
    if not found:
        return
    first, told = next(iter(found.items()))
    others = [name for name in found if name != first]
    more = f"; so are {', '.join(others)}" if others else ""
    raise DataError(f"{told}{more}", where=f"column {first}", hint=remedy('", "'.join(found)))


def refuse_ranges_in_two_units(
    proposals: Mapping[str, Proposal], same_unit: Collection[str] = ()
) -> None:
    """The same of what proposals tell, where nobody sees the others' tables: of ranges that do not
    meet. Units whose ranges meet, as those of kg and lb may, cannot be told from them.

    Args:
        proposals: by site.
        same_unit: columns that are said to be in one unit everywhere.

    Raises:
        DataError: names the column, two sites, and what to do.
    """
    ranges: dict[str, dict[str, tuple[float, float]]] = {}
    for site, proposal in proposals.items():
        for one in proposal.columns:
            if one.measured and one.low is not None and one.high is not None:
                ranges.setdefault(one.name, {})[site] = one.low, one.high
    for name, by_site in ranges.items():
        apart = ranges_in_two_units(by_site) if name not in same_unit else None
        if apart is not None:
            raise DataError(
                apart.told(by_site, "values are"),
                where=f"column {name}",
                hint=f"Convert to one unit and propose again; --same-unit {name} says that it is "
                "one unit",
            )


def refuse_other_unit(whose: str, table: Table, section: TableSection) -> None:
    """Refuse measurements that lie beyond the agreed range and in it after a known conversion.

    Args:
        whose: table.
        table: its rows.
        section: the agreed rules.

    Raises:
        DataError: names column, values, range and conversion.
    """
    for rule in section.columns:
        known = isinstance(rule, NumericColumn) and rule.name in table.columns
        if not known or not isinstance(rule, NumericColumn) or rule.name in section.same_unit:
            continue
        column = table.columns[rule.name]
        shape = shape_of(column, [*section.missing, *rule.missing])
        found = site_column(table, column, shape).quartiles
        if found is None:
            continue
        conversions = into_range((found[0], found[2]), (rule.low, rule.high))
        if conversions:
            raise DataError(
                "half of the values lie beyond the agreed range, as if in another unit (such as "
                f"{named(conversions)})",
                where=f"{whose}, column {rule.name}",
                found=f"{found[0]:g} to {found[2]:g}",
                expected=f"{rule.low:g} to {rule.high:g}",
                hint="Convert to the unit that was agreed on, or correct the range",
            )


def _in_two_units(
    tables: Mapping[str, Table], measured: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Of measurements, by name with codes of a missing value, those that are in two units."""
    for name, missing in measured.items():
        sites: dict[str, SiteColumn] = {}
        for site, table in tables.items():
            if name in table.columns:
                column = table.columns[name]
                sites[site] = site_column(table, column, shape_of(column, missing))
        apart = apart_in_units(sites) if len(sites) > 1 else None
        if apart is not None:
            quartiles = {site: one.quartiles for site, one in sites.items()}
            yield name, apart.told(quartiles, "half of the values are")
