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


def behind_the_models(
    privacy: Mapping[str, PrivacyResult] | None, words: Words, *, noise: bool
) -> Limit:
    """What is promised to those whom a teacher learned from.

    Args:
        privacy: the promises, by hospital.
        words: about these participants.
        noise: whether an encryption hid the computation by some, which is easily taken for one.
    """
    title = words("limits.learned")
    if not privacy:
        return title, " ".join([words("limits.unpromised"), *[words("limits.noise")] * noise])
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


def chosen_questions(words: Words, *more: str, secret: bool) -> Limit:
    """What a student may ask, with what this kind adds; `secret`: questions were encrypted."""
    text = words("limits.questions_text" if secret else "limits.questions_open")
    return words("limits.questions"), " ".join([text, *more])


def sizes_and_times(words: Words, *more: str, sizes: str = "limits.sizes_exact") -> Limit:
    """What everybody sees of an exchange, with what this kind adds; `sizes` is the key of what
    messages tell of numbers of samples."""
    text = " ".join([words(sizes), words("limits.sizes_text"), *more])
    return words("limits.sizes"), text


def even_key(words: Words, *, secret: bool) -> str:
    """What else an answer may open to, part of a sentence: where nothing was encrypted there is no
    key."""
    return words("limits.even_key") if secret else ""


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
