"""What a report tells of a transfer in which hospitals added up what their fits know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from securefair.collaboration.telling import Limit, behind_the_models, sizes_and_times

if TYPE_CHECKING:
    from securefair.model.transfer.sums import ChosenSum, FitSum
    from securefair.records import RunResult
    from securefair.words import Words

SUM_OF_TWO = 2
"""Fits in a sum that hardly hides either."""


def steps_of_sums(
    result: RunResult, words: Words, later: Sequence[str], summed: FitSum, chosen: ChosenSum
) -> list[str]:
    """See `Told.steps`; `later` says what happened when patients changed."""
    people = words.either("counts.participants", len(result.participants))
    return [
        words("transfer.fitted", people=people),
        words("sums.got", means=words.phrase(summed.means)),
        words("sums.averaged"),
        *later,
        words("sums.chosen", because=chosen.told(words)),
    ]


def colluding_on_sums(fewest: int, missing: int, words: Words) -> str | None:
    """Who must work together to know a single fit out of sums over two; None of larger ones.

    Args:
        fewest: hospitals in a sum.
        missing: hospitals that a sum may be without.
        words: about these participants.
    """
    if fewest != SUM_OF_TWO:
        return None
    people = words.either("counts.participants", fewest)
    if missing:
        return words("sums.colluding_two_missing", people=people, missing=missing)
    return words("sums.colluding_two", people=people)


def limits_of_sums(
    result: RunResult, words: Words, colluding: str, summed: FitSum, *, fewest: int
) -> list[Limit]:
    """See `Told.limits`; `fewest` hospitals are in a sum."""
    implied = [
        words("sums.implied_text", means=words.phrase(summed.means)),
        words("sums.rows" if summed.rows else "sums.no_rows"),
    ]
    # Sums of fits, and of fits as each penalty weighs them, are two equations for two unknowns.
    if fewest == SUM_OF_TWO:
        implied.append(words("sums.of_two"))
    return [
        (words("sums.implied"), " ".join(implied)),
        behind_the_models(result.privacy, words, noise=False),
        (words("limits.collusion"), f"{colluding} {words('sums.colluding')}"),
        (words("sums.later"), words("sums.later_text")),
        (words("sums.peers"), words("sums.peers_text")),
        sizes_and_times(words, sizes="limits.sizes_summed"),
    ]
