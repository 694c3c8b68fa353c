"""Whether results repeat: new numbers beside stored ones of the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from securefair.errors import ConfigError
from securefair_lab.papers.comparison import ComparedNumber, Comparison
from securefair_lab.papers.origin import Origin


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """How far results repeat.

    Args:
        numbers: compared, each of every seed.
        different: those that differ, as (setting and metric, largest difference of any seed).
        machines: what is not the same on both sides, such as the processor; equal seeds repeat to
            the bit only where nothing is.
    """

    numbers: int
    different: Sequence[tuple[str, float]]
    machines: Sequence[str]


def repetition(stored: Comparison, again: Comparison) -> Repetition:
    """Compare two results of one experiment, size and number of seeds.

    Raises:
        ConfigError: they are of different experiments or of different code, or the stored ones do
            not say by which code they were made.
    """
    for where, old, new in (
        ("experiment", stored.experiment, again.experiment),
        ("size", stored.size, again.size),
        ("seeds", stored.seeds, again.seeds),
        ("code", _code(stored), _code(again)),
    ):
        if old != new:
            raise ConfigError(
                f"results of another {where} cannot be compared",
                where="--against",
                found=old,
                expected=new,
            )
    known = {_key(number): number.each for number in stored.numbers}
    different = []
    for number in again.numbers:
        before = known.get(_key(number))
        if before is None or len(before) != len(number.each):
            different.append((_key(number), float("inf")))
        elif before != number.each:
            apart = max(abs(a - b) for a, b in zip(before, number.each, strict=True))
            different.append((_key(number), apart))
    return Repetition(
        numbers=len(again.numbers),
        different=different,
        machines=_apart(stored.origins, again.origins),
    )


def _key(number: ComparedNumber) -> str:
    words = [f"{key} {value}" for key, value in number.fields.items() if value is not None]
    return ", ".join([*words, number.metric])


def _code(comparison: Comparison) -> str:
    return ", ".join(sorted({one.code for one in comparison.origins})) or "not stored"


def _apart(old: Sequence[Origin], new: Sequence[Origin]) -> list[str]:
    """In words, every property of the machines that is not the same."""
    result = []
    for name in ("libraries", "python", "processor", "kernels", "threads", "device"):
        before, now = ({str(getattr(one, name)) for one in side} for side in (old, new))
        if before != now:
            old_words, new_words = (" and ".join(sorted(side)) for side in (before, now))
            result.append(f"{name}: {old_words}, now {new_words}")
    return result
