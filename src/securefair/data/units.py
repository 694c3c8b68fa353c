"""Whether one hospital's measurement is another's in another unit: by conversions that are known.

A factor alone says little, since patients differ too. So three things must agree: the middle half
of one hospital's values meets that of no other; medians are apart by a factor that is a known
conversion; and the middle halves are as wide as that conversion makes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.data.findings import Finding

LEAST = 20
"""Values of each hospital from which medians tell something."""

NEAR = 1.25
"""Factor by which medians may be off a conversion: patients differ as well."""

WIDTHS = 2.0
"""Factor by which the widths of middle halves may be off it."""

SHOWN = 2
"""Conversions that are named."""

Quartiles = tuple[float, float, float]


@dataclass(frozen=True)
class Conversion:
    """`high` = `factor` * `low` + `offset`, in these units.

    Attributes:
        low, high: units, of smaller and of larger numbers.
        factor, offset: see above.
    """

    low: str
    high: str
    factor: float
    offset: float = 0.0


CONVERSIONS = (
    Conversion("kg", "lb", 2.2046),
    Conversion("inches", "cm", 2.54),
    Conversion("feet", "inches", 12.0),
    Conversion("m", "feet", 3.2808),
    Conversion("m", "inches", 39.37),
    Conversion("m", "cm", 100.0),
    Conversion("degrees Celsius", "degrees Fahrenheit", 1.8, 32.0),
    Conversion("kPa", "mmHg", 7.5006),
    Conversion("days", "hours", 24.0),
    Conversion("weeks", "days", 7.0),
    Conversion("months", "days", 30.437),
    Conversion("years", "months", 12.0),
    Conversion("years", "days", 365.25),
    Conversion("mmol/l of urea nitrogen", "mg/dl", 2.8011),
    Conversion("mmol/l of calcium", "mg/dl", 4.0078),
    Conversion("mmol/l of urea", "mg/dl", 6.0056),
    Conversion("mg/dl of bilirubin", "umol/l", 17.104),
    Conversion("mmol/l of glucose", "mg/dl", 18.016),
    Conversion("mmol/l of cholesterol", "mg/dl", 38.67),
    Conversion("mg/dl of uric acid", "umol/l", 59.485),
    Conversion("mg/dl of creatinine", "umol/l", 88.42),
    Conversion("mmol/l of triglycerides", "mg/dl", 88.57),
    Conversion("tens", "ones, as of g/dl and g/l", 10.0),
    Conversion("fractions", "percent", 100.0),
    Conversion("thousands", "ones, as of g and mg", 1000.0),
    Conversion("millions", "ones", 1e6),
)
"""Those that change the numbers of a measurement by a factor of two or more."""


@dataclass(frozen=True)
class Apart:
    """Hospitals whose values are in two units.

    Attributes:
        low, high: names of those with smaller and with larger numbers.
        conversions: that hold between them, the nearest first.
    """

    low: tuple[str, ...]
    high: tuple[str, ...]
    conversions: tuple[Conversion, ...]

    def told(self, ends: Mapping[str, tuple[float, ...] | None], what: str) -> str:
        """What differs, in a sentence without a full stop.

        Args:
            ends: by hospital, numbers of which the first and the last are shown.
            what: those numbers are.
        """
        site, other = self.rarer[0], self.usual[0]
        shown = {
            name: "nothing" if not found else f"{found[0]:g} to {found[-1]:g}"
            for name, found in ends.items()
        }
        units = named(self.conversions)
        return (
            f"{what} {shown[site]} at {site} and {shown[other]} at {other}, as if one were in "
            f"another unit (such as {units})"
        )

    @property
    def rarer(self) -> tuple[str, ...]:
        """The smaller group; of two equal ones that with the smaller numbers."""
        return min(self.low, self.high, key=len)

    @property
    def usual(self) -> tuple[str, ...]:
        """The other group."""
        return self.high if self.rarer is self.low else self.low

    def finding(self, column: str, quartiles: Mapping[str, tuple[float, ...] | None]) -> Finding:
        """For whoever lists findings."""
        return Finding(
            site=self.rarer[0],
            column=column,
            line=None,
            kind="units",
            message=self.told(quartiles, "half of the values are"),
            remedy=remedy(column),
            severity="refusal",
        )


def named(conversions: Sequence[Conversion]) -> str:
    """The first of some conversions, for people."""
    return ", or ".join(f"{one.low} and {one.high}" for one in conversions[:SHOWN])


def remedy(column: str) -> str:
    """What to do about two units."""
    return (
        "Convert to the unit that was agreed on; where it is one unit and patients differ so much, "
        f'say same_unit = ["{column}"] in [table]'
    )


def in_two_units(sites: Mapping[str, Quartiles]) -> Apart | None:
    """Whether hospitals fall into two groups with a known conversion between them.

    Args:
        sites: quartiles of a measurement, by hospital.

    Returns:
        The groups and the nearest conversion that holds between every one of the one group and
        every one of the other; None where there are no such groups.
    """
    order = sorted(sites, key=lambda site: sites[site][1])
    for at in range(1, len(order)):
        low, high = order[:at], order[at:]
        off = {
            one: [_off(one, sites[a], sites[b]) for a in low for b in high] for one in CONVERSIONS
        }
        holds = {one: max(many) for one, many in off.items() if max(many) < math.inf}
        if holds:
            nearest = sorted(holds, key=lambda one: holds[one])
            return Apart(tuple(low), tuple(high), tuple(nearest))
    return None


def _off(conversion: Conversion, low: Quartiles, high: Quartiles) -> float:
    """Logarithm of the factor by which medians are off a conversion; infinite: it is not that."""
    wide = low[2] - low[0], high[2] - high[0]
    if low[2] >= high[0] or low[1] <= 0 or min(wide) <= 0:
        return math.inf
    median = abs(math.log(high[1] / (conversion.factor * low[1] + conversion.offset)))
    width = abs(math.log(wide[1] / (conversion.factor * wide[0])))
    return median if median <= math.log(NEAR) and width <= math.log(WIDTHS) else math.inf


ALIKE = 0.25
"""Part that two ranges share of what both cover, from which one is the other's in its unit."""


def ranges_in_two_units(ranges: Mapping[str, tuple[float, float]]) -> Apart | None:
    """The same of ranges alone, which proposals tell: of hospitals whose ranges do not meet.

    Args:
        ranges: smallest and largest value, rounded outwards, by hospital.

    Returns:
        The groups; None where ranges meet, as those of kg and lb may, or no conversion is known.
    """
    order = sorted(ranges, key=lambda site: ranges[site])
    for at in range(1, len(order)):
        low, high = order[:at], order[at:]
        first = min(ranges[one][0] for one in low), max(ranges[one][1] for one in low)
        second = min(ranges[one][0] for one in high), max(ranges[one][1] for one in high)
        if first[1] >= second[0] or first[1] <= 0:
            continue
        shared = {one: _shared(one, first, second) for one in CONVERSIONS}
        best = sorted(CONVERSIONS, key=lambda one: -shared[one])
        alike = tuple(one for one in best if shared[one] >= ALIKE)
        if alike:
            return Apart(tuple(low), tuple(high), alike)
    return None


def into_range(values: tuple[float, float], agreed: tuple[float, float]) -> tuple[Conversion, ...]:
    """Conversions that bring values into a range in which none of them lies.

    Args:
        values: smallest and largest of a hospital, of what lies in the middle.
        agreed: range.

    Returns:
        Those that bring them nearest to its middle first; none where some lie in it.
    """
    if values[1] <= 0 or (values[0] <= agreed[1] and agreed[0] <= values[1]):
        return ()
    centre, found = sum(agreed) / 2, dict[Conversion, float]()
    for one in CONVERSIONS:
        up = [one.factor * value + one.offset for value in values]
        down = [(value - one.offset) / one.factor for value in values]
        for low, high in (up, down):
            if agreed[0] <= low and high <= agreed[1]:
                found[one] = abs((low + high) / 2 - centre)
    return tuple(sorted(found, key=lambda one: found[one]))


def _shared(one: Conversion, low: tuple[float, float], high: tuple[float, float]) -> float:
    start, end = (one.factor * value + one.offset for value in low)
    both = min(end, high[1]) - max(start, high[0])
    return both / (max(end, high[1]) - min(start, high[0]))
