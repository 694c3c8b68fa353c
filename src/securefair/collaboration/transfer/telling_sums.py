"""What a report tells of a transfer in which hospitals added up what their fits know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from securefair.collaboration.telling import Limit, behind_the_models, sizes_and_times

if TYPE_CHECKING:
    from securefair.model.transfer.sums import ChosenSum, FitSum
    from securefair.records import RunResult
    from securefair.words import Words


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


def limits_of_sums(result: RunResult, words: Words, colluding: str, summed: FitSum) -> list[Limit]:
    """See `Told.limits`."""
    implied = [
        words("sums.implied_text", means=words.phrase(summed.means)),
        words("sums.rows" if summed.rows else "sums.no_rows"),
    ]
    # Sums of fits, and of fits as each penalty weighs them, are two equations for two unknowns.
    if len(result.participants) == 3:
        implied.append(words("sums.of_two"))
    return [
        (words("sums.implied"), " ".join(implied)),
        behind_the_models(result.privacy, words),
        (words("limits.collusion"), f"{colluding} {words('sums.colluding')}"),
        (words("sums.later"), words("sums.later_text")),
        (words("sums.peers"), words("sums.peers_text")),
        sizes_and_times(words),
    ]
