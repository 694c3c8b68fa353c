"""Means that were given: every student gets one function of its teachers, whatever it asks.

Two means over teachers that differ by one tell that one's answer, in one round or in two. So a
teacher gives a student means over one set of teachers only, and from one fit of its own. As all
teachers keep to that, all that the student ever gets is of one sum of fits: neither a peer that is
away nor one whose patients changed can be taken out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from securefair.errors import LedgerError


@dataclass(frozen=True)
class Given:
    """Of one teacher, by student: its version, and the senders, of the mean that was opened first.

    A mean counts from the moment the key of a share leaves.
    """

    means: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    def check(self, student: str, version: int, senders: tuple[str, ...]) -> None:
        """Refuse a mean over other teachers than before, or from another fit.

        Raises:
            LedgerError: names what differs.
        """
        before = self.means.get(student)
        if before is None or before == (version, senders):
            return
        known, named = before
        raise LedgerError(
            f"two means of different fits would tell {student} of a single teacher",
            where="transfer.opened",
            found=f"version {version} of the own fit, {', '.join(senders)}",
            expected=f"version {known}, {', '.join(named)}",
            hint="It goes on with what it was told before",
        )

    def plus(self, student: str, version: int, senders: tuple[str, ...]) -> Given:
        """With one mean more.

        Raises:
            LedgerError: see `check`.
        """
        self.check(student, version, senders)
        return Given({**self.means, student: (version, senders)})
