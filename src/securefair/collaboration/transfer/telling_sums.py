"""What a report tells of a transfer in which hospitals added up what their fits know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from securefair.collaboration.telling import Limit, behind_the_models, sizes_and_times
from securefair.collaboration.wording import Nouns, plural

if TYPE_CHECKING:
    from securefair.model.transfer.sums import ChosenSum, FitSum
    from securefair.records import RunResult


def steps_of_sums(
    result: RunResult, nouns: Nouns, later: Sequence[str], summed: FitSum, chosen: ChosenSum
) -> list[str]:
    """See `Told.steps`; `later` says what happened when patients changed."""
    people = plural(len(result.participants), nouns.participant, nouns.participants)
    return [
        f"Each of {people} fitted a regularised model to its own {nouns.samples}, with settings "
        "chosen by cross-validation on them.",
        f"Once, every {nouns.participant} got the sum, over the others, of {summed.means}. What "
        f"each added is of the fit on its own {nouns.samples} and of nothing else, so nothing that "
        f"was opened flows back. Nobody was asked about {nouns.samples}.",
        "Each then fitted again, around the others' mean fit and around the most likely one, and "
        "averaged many settings, some of them without any peer, by how well each predicts its own "
        f"held-out {nouns.samples}. Where peers do not help, they count little.",
        *later,
        "Nothing was encrypted, and sums were chosen instead: "
        f"{chosen.because}. What each added was hidden under masks that cancel in the sum.",
    ]


def counted_in_sums(nouns: Nouns) -> str:
    """See `Told.counted`."""
    return (
        f"The ledger counts the numbers of its own fit that a {nouns.participant} added for each "
        "other one, who knows them only in the sum. They are more than the fit has coefficients: "
        f"how sure each coefficient is tells of the {nouns.samples}, too. A fit is added once for "
        f"each {nouns.participant}, as long as its {nouns.samples} stay the same. The count is "
        "not a formal guarantee."
    )


def limits_of_sums(result: RunResult, nouns: Nouns, colluding: str, summed: FitSum) -> list[Limit]:
    """See `Told.limits`."""
    rows = (
        f"Products of features over fewer {nouns.samples} than there are features tell single "
        f"{nouns.samples}. About half of the {nouns.participants}, working together, know such "
        "products of the rest."
        if summed.rows
        else f"Of a column of yes and no they hold a weighted count of {nouns.samples}. Of a "
        f"finding that one {nouns.participant} alone has they tell that one's coefficient, and "
        f"where one of the {nouns.samples} alone has it, the outcome."
    )
    return [
        (
            "What the sum implies",
            f"Whoever gets the sum of {summed.means} knows the mean of the others' fits, and how "
            f"their {nouns.samples} together are spread. {rows}{_told_of_two(result, nouns)}",
        ),
        behind_the_models(result.privacy, nouns),
        ("Collusion", f"{colluding} They then know all that that one added."),
        (
            "Later collaborations",
            f"Two sums over sets of {nouns.participants} that differ by one tell what that one "
            f"added; over other {nouns.samples} of one, much of what is new. Nobody gives two in "
            "one collaboration. A new collaboration knows nothing of an earlier one.",
        ),
        (
            "Malicious peers",
            "Who does not follow the protocol adds what it likes, and can spoil the others' new "
            f"models as far as their own held-out {nouns.samples} let it, or prevent that a sum "
            "opens. It reads nothing by that.",
        ),
        sizes_and_times(nouns),
    ]


def _told_of_two(result: RunResult, nouns: Nouns) -> str:
    """Sums of fits, and of fits as each penalty weighs them, are two equations for two unknowns."""
    if len(result.participants) != 3:
        return ""
    return (
        f" Of three {nouns.participants} each gets a sum over two, which tells roughly what either "
        "fit is, the better the more these differ in size."
    )
