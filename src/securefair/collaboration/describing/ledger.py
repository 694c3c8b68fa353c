"""What hospitals have told in descriptions: two that differ tell their difference.

By other rules a patient moves from one cell to another; of other patients, those are counted who
came or went. Each description passes by itself, and one less the other may be a single patient. So
a hospital takes part in another one only where it says so. The same one again tells nothing new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from securefair.data import Samples
from securefair.data.places import marks_of
from securefair.errors import LedgerError


class ToldCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Of one hospital; it stays there.

    Attributes:
        rules: digest of the agreed rules of its last description.
        patients: digest of its patients then.
        descriptions: different ones that it took part in.
        numbers: that others opened of sums with its part, in all of them.
    """

    rules: str
    patients: str
    descriptions: int = 1
    numbers: int = 0


Before = Mapping[str, ToldCounts]
"""By hospital, what it told in earlier descriptions."""

NOTHING_TOLD: Before = MappingProxyType({})


def about_to_tell(
    before: Before, rules: bytes, people: Mapping[str, Samples], *, again: bool
) -> dict[str, ToldCounts]:
    """What every hospital notes before anything of it leaves, yet without numbers.

    Args:
        before: that was told.
        rules: 32 bytes over the agreed rules.
        people: patients of each hospital.
        again: they agree to tell what differs from an earlier description.

    Raises:
        LedgerError: a hospital told something else before, and they do not agree to that.
    """
    found = {}
    for name, samples in people.items():
        now, known = ToldCounts(rules=rules.hex(), patients=_digest(samples)), before.get(name)
        if known is None:
            found[name] = now
            continue
        changed = [
            what
            for what, one, other in (
                ("by other rules", known.rules, now.rules),
                ("of other patients", known.patients, now.patients),
            )
            if one != other
        ]
        if changed and not again:
            raise LedgerError(
                "two descriptions would tell their difference, which may be a single patient",
                where=name,
                found=f"an earlier one {' and '.join(changed)}",
                expected="the same rules and patients",
                hint="--again tells it all the same, and counts it",
            )
        found[name] = msgspec.structs.replace(
            now, descriptions=known.descriptions + bool(changed), numbers=known.numbers
        )
    return found


def with_numbers(told: Before, before: Before, numbers: int) -> dict[str, ToldCounts]:
    """With what others opened; a description that is repeated tells nothing new."""
    return {
        name: one
        if name in before and before[name].descriptions == one.descriptions
        else msgspec.structs.replace(one, numbers=one.numbers + numbers)
        for name, one in told.items()
    }


def _digest(samples: Samples) -> str:
    """The same in whatever order patients stand."""
    return hashlib.sha256(b"".join(sorted(marks_of(samples, b"")))).hexdigest()
