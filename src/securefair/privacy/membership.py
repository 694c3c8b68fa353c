"""Who was in which table of a hospital, so that no difference of its fits tells of a few.

A hospital whose patients change answers from another fit than before. Whoever opens both knows what
the patients who came and went change together, and of a single one that is nearly its record: one
step of Newton's method away (`tests/security/test_renewed_patients.py`). Three tables and more may
be combined with any factors. So patients are divided by the tables that they were in. All of one
such part have the same factor in every combination, and no part may be small.

This hides nobody in a part: it is as much as the fit of a hospital of so many patients tells.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import msgspec

from securefair.data.dataset import Samples
from securefair.data.places import MARK_BYTES, marks_of
from securefair.errors import DataError

FEWEST_CHANGED = 20
"""Patients who were in the same tables, and in others not."""


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """Of one hospital and one collaboration.

    Attributes:
        tables: so far.
        found: by a keyed hash of a patient's rows, the tables that it was in: a bit each.
    """

    tables: int = 0
    found: Mapping[bytes, int] = {}

    def plus(self, samples: Samples, key: bytes) -> Membership:
        """With one table more.

        Args:
            samples: its training samples. Rows of one patient count once, and a patient of whom
                anything changed as one that went and one that came.
            key: of the hashes, up to 64 bytes; the same for all tables.
        """
        bit, found = 1 << self.tables, dict(self.found)
        for patient in _patients(samples, key):
            found[patient] = found.get(patient, 0) | bit
        return Membership(tables=self.tables + 1, found=found)

    def check(self, name: str, fewest: int = FEWEST_CHANGED) -> None:
        """Refuse the last table where it and those before tell of too few.

        Raises:
            DataError: it does; says how many came and went, and holds nothing of them.
        """
        parts = Counter(self.found.values())
        small = {tables: count for tables, count in parts.items() if count < fewest}
        if self.tables < 2 or not small:
            return
        now = 1 << (self.tables - 1)
        before = now >> 1
        came = sum(count for tables, count in small.items() if tables & now and not tables & before)
        went = sum(count for tables, count in small.items() if tables & before and not tables & now)
        others = sum(small.values()) - came - went
        said = [(came, "came"), (went, "went"), (others, "stayed, or were in earlier tables")]
        raise DataError(
            "too few patients changed: answers of before and after would tell of them",
            where=name,
            found=", ".join(f"{count} that {what}" for count, what in said if count),
            expected=f"nobody, or at least {fewest} of those who train at once, over all tables of "
            "this project",
            hint="Leave them as they were, or wait until more have changed",
        )


def check_tables(name: str, tables: Sequence[Samples], key: bytes) -> None:
    """Refuse tables that follow each other where they tell of too few.

    Raises:
        DataError: see `Membership.check`.
    """
    members = Membership()
    for table in tables:
        members = members.plus(table, key)
        members.check(name)


def _patients(samples: Samples, key: bytes) -> Iterator[bytes]:
    """A hash a patient; of equal ones the second differs from the first."""
    rows = defaultdict[int, list[bytes]](list)
    for at, row in enumerate(marks_of(samples, key)):
        rows[at if samples.patients is None else int(samples.patients[at])].append(row)
    seen = Counter[bytes]()
    for own in rows.values():
        joined = b"".join(sorted(own))
        seen[joined] += 1
        text = joined + seen[joined].to_bytes(4, "big")
        yield blake2b(text, digest_size=MARK_BYTES, key=key, person=b"sf-patient").digest()
