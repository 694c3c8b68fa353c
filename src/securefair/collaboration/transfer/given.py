"""Means that were given: whoever works together gets one sum of fits, whatever it asks.

Two means over teachers that differ by one tell that one's answer, in one round or in two, to one
student or to two that put them together. So a teacher gives means from one fit of its own only, and
of any two students it tells only what they had from either mean alone: but for the two themselves,
who know their own fits, the means are over the same teachers. So neither a peer that is away for
one student, nor one whose patients changed, can be taken out of a sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from securefair.errors import OtherSumError


@dataclass(frozen=True)
class Given:
    """Of one teacher, by student: its version, and the senders, of the mean that was opened first.

    A mean counts from the moment the key of a share leaves.
    """

    means: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    def check(self, student: str, version: int, senders: tuple[str, ...]) -> None:
        """Refuse a mean over other teachers than before, or from another fit.

        Raises:
            OtherSumError: names what differs, and of those senders the ones of a mean that may be
                given.
        """
        for other, (known, named) in self.means.items():
            apart = {student, other}
            if (known, set(named) - apart) != (version, set(senders) - apart):
                raise OtherSumError(
                    f"two means of different fits would tell {_and(student, other)} of a single "
                    "teacher",
                    where="transfer.opened",
                    found=f"version {version} of the own fit, {', '.join(senders)}",
                    expected=f"version {known}, {', '.join(named)}",
                    hint="It goes on with what it was told before",
                    senders=self._possible(student, version, senders),
                )

    def _possible(self, student: str, version: int, senders: tuple[str, ...]) -> tuple[str, ...]:
        """Of these senders, those that are in every mean that was given; none: no such mean."""
        left = tuple(
            name
            for name in senders
            if all(name in named for other, (_, named) in self.means.items() if other != name)
        )
        for other, (known, named) in self.means.items():
            apart = {student, other}
            if (known, set(named) - apart) != (version, set(left) - apart):
                return ()
        return left

    def plus(self, student: str, version: int, senders: tuple[str, ...]) -> Given:
        """With one mean more.

        Raises:
            OtherSumError: see `check`.
        """
        self.check(student, version, senders)
        return Given({**self.means, student: (version, senders)})


def _and(student: str, other: str) -> str:
    return student if student == other else f"{student} and {other}"
