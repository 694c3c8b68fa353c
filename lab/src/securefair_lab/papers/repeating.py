"""Whether results repeat: new numbers beside stored ones of the same seeds.

Nothing is refused here but another experiment: what the two sides do not have in common is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Literal, get_args

from securefair.errors import ConfigError
from securefair_lab.papers.comparison import ComparedNumber, Comparison
from securefair_lab.papers.origin import Origin
from securefair_lab.papers.verdicts import Verdict

Status = Literal["equal", "within", "flipped", "missing"]
STATUSES: tuple[Status, ...] = get_args(Status)
BEYOND = 0.1
"""Of all means: how many may lie beyond in a result that repeats within the spread of seeds."""


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """How far results repeat.

    Args:
        numbers: how many were compared, each of every seed that both sides have.
        different: by setting and metric, the largest difference of any seed; infinite where one
            side has no such number.
        beyond: those of them whose mean, of the seeds of both sides, moved by more than a standard
            deviation over seeds.
        lacking: numbers and claims that one side alone has; seeds, where one has fewer.
        flipped: claims that held and fail now, or the other way round.
        moved: claims that can be told on one side only.
        apart: what is not the same on both sides, such as code, processor or seeds; equal seeds
            repeat to the bit only where nothing is.
    """

    numbers: int
    different: Mapping[str, float]
    beyond: Sequence[str]
    lacking: Sequence[str]
    flipped: Sequence[str]
    moved: Sequence[str]
    apart: Sequence[str]

    @property
    def status(self) -> Status:
        """In a word: within only where everything could be compared, and next to nothing is beyond.

        Three other seeds put a fifth of means, or more, a standard deviation of seeds apart.
        """
        if self.flipped or len(self.beyond) > BEYOND * self.numbers:
            return "flipped"
        if self.lacking or not self.numbers:
            return "missing"
        return "within" if self.different or self.moved else "equal"


def repetition(stored: Comparison, again: Comparison) -> Repetition:
    """Compare two results of one experiment and size.

    Raises:
        ConfigError: they are of different experiments or sizes: their numbers are not of the same.
    """
    check_comparable(stored, again.experiment, again.size)
    before = {_key(number): number for number in stored.numbers}
    now = {_key(number): number for number in again.numbers}
    differences = {key: _difference(before.get(key), now.get(key)) for key in {**before, **now}}
    judged = _judged(stored, again)
    different = {key: by for key, by in differences.items() if by}
    both = before.keys() & now.keys()
    claims = {own.claim for own in stored.claims} ^ {own.claim for own in again.claims}
    lacking = [*(key for key in differences if key not in both), *sorted(claims)]
    if stored.seeds != again.seeds:
        lacking.append(seeds_shown(stored, again))
    return Repetition(
        numbers=len(differences),
        different=different,
        beyond=[key for key in different if key in both and _is_beyond(before[key], now[key])],
        lacking=lacking,
        flipped=[words for words, both in judged if both == {"holds", "fails"}],
        moved=[words for words, both in judged if "cannot be told" in both],
        apart=_apart(stored, again),
    )


def check_comparable(stored: Comparison, experiment: str, size: str) -> None:
    """Refuse to compare what is not of the same.

    Raises:
        ConfigError: the stored result is of another experiment or size.
    """
    for where, old, new in (
        ("experiment", stored.experiment, experiment),
        ("size", stored.size, size),
    ):
        if old != new:
            raise ConfigError(
                f"results of another {where} cannot be compared",
                where="--against",
                found=old,
                expected=new,
            )


def seeds_shown(stored: Comparison, again: Comparison) -> str:
    """How many seeds of the stored result were compared, such as "1 of 3 seeds"."""
    return f"{min(stored.seeds, again.seeds)} of {stored.seeds} seeds"


def _key(number: ComparedNumber) -> str:
    words = [f"{key} {value}" for key, value in number.fields.items() if value is not None]
    return ", ".join([*words, number.metric])


def _difference(old: ComparedNumber | None, new: ComparedNumber | None) -> float:
    """The largest of any seed, and of means and spreads where both have equally many seeds."""
    if old is None or new is None:
        return inf
    pairs = list(zip(old.each, new.each, strict=False))
    if not pairs or len(old.each) == len(new.each):
        pairs += [(old.ours, new.ours), (old.spread, new.spread)]
    return max(abs(a - b) for a, b in pairs)


def _is_beyond(old: ComparedNumber, new: ComparedNumber) -> bool:
    """Of the seeds that both have; of means alone where single seeds were not kept."""
    shared = list(zip(old.each, new.each, strict=False))
    by = fmean(b - a for a, b in shared) if shared else new.ours - old.ours
    return abs(by) > max(old.spread, new.spread)


def _judged(stored: Comparison, again: Comparison) -> list[tuple[str, set[Verdict]]]:
    """Claims of both sides that are judged in two ways, with both."""
    before = {own.claim: own.verdict for own in stored.claims}
    return [
        (own.claim, {own.verdict, before[own.claim]})
        for own in again.claims
        if before.get(own.claim, own.verdict) != own.verdict
    ]


def _apart(stored: Comparison, again: Comparison) -> list[str]:
    """In words, everything behind the numbers that is not the same."""
    result = []
    if stored.seeds != again.seeds:
        result.append(f"seeds: {stored.seeds}, now {again.seeds}")
    for name in Origin.__struct_fields__:
        before, now = (
            " and ".join(sorted({str(getattr(one, name)) for one in side.again or side.origins}))
            or "not stored"
            for side in (stored, again)
        )
        if before != now:
            result.append(f"{name}: {before}, now {now}")
    return result
