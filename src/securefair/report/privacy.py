"""What a run promises to patients, and what it has cost them by which round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.records import PrivacyResult, RoundRecord
from securefair.report.fitting import FittingTable, TableColumn
from securefair.words import Words, words_of


@dataclass(frozen=True)
class Spending:
    """From this round on every hospital's patients had paid so much."""

    round: int
    epsilons: list[float]


def asked_pair(one: PrivacyResult, words: Words) -> str:
    """The second pair of figures: for the patients that a hospital asked about."""
    if one.asked_epsilon is None:
        return words("promised.open")
    if one.asked_epsilon == 0:
        return "0"
    return words(
        "promised.pair",
        epsilon=words.figure(f"{one.asked_epsilon:.3g}"),
        delta=words.figure(f"{one.asked_delta or 0.0:.1e}"),
    )


def promised(privacy: Mapping[str, PrivacyResult]) -> FittingTable:
    """Two pairs of figures a hospital, for a terminal."""
    each = list(privacy.values())
    return FittingTable(
        "What is promised to patients",
        [
            TableColumn("Of", list(privacy), numbers=False),
            TableColumn("by", [one.mechanism for one in each], numbers=False, dispensable=1),
            TableColumn("Epsilon\nspent", [f"{one.spent_epsilon:.3g}" for one in each]),
            TableColumn("of", [f"{one.epsilon:.3g}" for one in each]),
            TableColumn("Delta", [f"{one.delta:.1e}" for one in each]),
            TableColumn(
                "Epsilon,\nasked about",
                [asked_pair(one, words_of()) for one in each],
                numbers=False,
            ),
        ],
    )


def spending(rounds: Sequence[RoundRecord]) -> list[Spending]:
    """The rounds after which hospitals' patients had paid more than before."""
    found: list[Spending] = []
    for record in rounds:
        paid = record.privacy_spent
        if paid is not None and (not found or found[-1].epsilons != paid):
            found.append(Spending(record.round, paid))
    return found


def spent_so_far(record: RoundRecord) -> str:
    """For a line of progress; empty where nothing is private."""
    if not record.privacy_spent:
        return ""
    return f", epsilon {max(record.privacy_spent):.3g}"
