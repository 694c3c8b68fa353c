"""Means that were given: whoever works together gets one sum of fits, whatever it asks.

Two means over teachers that differ by one tell that one's answer, in one round or in two, to one
student or to two that put them together. So a teacher gives means from one fit of its own only, and
of any two students it tells only what they had from either mean alone: but for the two themselves,
who know their own fits, the means are over the same teachers. So neither a peer that is away for
one student, nor one whose patients changed, can be taken out of a sum.

A share that other senders can open (`averaging.recovery`) is given as soon as it is made, as far as
the fit goes that it is from: its sender would not hear that it was opened. Whether it was is for
them to know, who each stand in one sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from securefair.errors import OtherSumError


@dataclass(frozen=True)
class Given:
    """Of one teacher, by student: its version, and the senders, of the mean that was opened first.

    A mean counts from the moment the key of a share leaves. `opened_by_others` is the version whose
    shares others can open; None: no such share was made.
    """

    means: Mapping[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    opened_by_others: int | None = None

    def check(self, student: str, version: int, senders: tuple[str, ...]) -> None:
        """Refuse a mean over other teachers than before, or from another fit.

        Raises:
            OtherSumError: names what differs, and of those senders the ones of a mean that may be
                given.
        """
        if self.opened_by_others not in (None, version):
            raise OtherSumError(
                "two means of different fits would tell of a single teacher",
                where="transfer.opened",
                found=f"version {version} of the own fit",
                expected=f"version {self.opened_by_others}",
                hint="It goes on with what it was told before",
            )
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
        return replace(self, means={**self.means, student: (version, senders)})

    def opened_together(self, version: int) -> Given:
        """With a share from that version that others can open, which was checked."""
        return replace(self, opened_by_others=version)


def _and(student: str, other: str) -> str:
    return student if student == other else f"{student} and {other}"
