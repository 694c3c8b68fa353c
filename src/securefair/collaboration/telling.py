"""Paragraphs of reports that several kinds share: those in which teachers answer questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.privacy.guarantees import meaning_of
from securefair.records import PrivacyResult, StandInResult
from securefair.words import Words

Limit = tuple[str, str]
"""What a method does not protect: title and explanation (docs/threat-model.md)."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a report tells people of a run.

    Attributes:
        steps: what was done, in that order: a paragraph each.
        counted: what the numbers in the ledger tell, and how they add up: a paragraph.
        limits: what was not protected, no less than docs/threat-model.md says.
    """

    steps: Sequence[str]
    counted: str
    limits: Sequence[Limit]


def caveats(privacy: Mapping[str, PrivacyResult], words: Words) -> list[str]:
    """What the promises to patients do not cover, each once."""
    found = dict.fromkeys(note for one in privacy.values() for note in one.caveats)
    return [f"{words.translation(note)}." for note in found]


def behind_the_models(privacy: Mapping[str, PrivacyResult] | None, words: Words) -> Limit:
    """What is promised to those whom a teacher learned from."""
    title = words("limits.learned")
    if not privacy:
        return title, words("limits.unpromised")
    weakest = max(privacy.values(), key=lambda one: one.spent_epsilon + (one.asked_epsilon or 0.0))
    text = words(
        "limits.promised",
        meaning=meaning_of(
            weakest.spent_epsilon + (weakest.asked_epsilon or 0.0),
            weakest.spent_delta + (weakest.asked_delta or 0.0),
            words,
        ),
        notes=" ".join(caveats(privacy, words)),
    )
    return title, text.strip()


def chosen_questions(words: Words, *more: str) -> Limit:
    """What a student may ask, with what this kind adds."""
    return words("limits.questions"), " ".join([words("limits.questions_text"), *more])


def sizes_and_times(words: Words, *more: str) -> Limit:
    """What everybody sees of an exchange, with what this kind adds."""
    return words("limits.sizes"), " ".join([words("limits.sizes_text"), *more])


def told_of_stand_in(name: str, found: StandInResult, words: Words) -> str:
    """That a model which a participant brought does not answer itself, and how far it is off."""
    return words(
        "transfer.stand_in",
        name=name,
        model=found.model,
        own=words.decimal(found.own),
        other=words.percent(found.other_class, 1),
        synthetic=words.decimal(found.synthetic),
    )
