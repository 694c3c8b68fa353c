"""Paragraphs of reports that several kinds share: those in which teachers answer questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.collaboration.wording import Nouns
from securefair.records import PrivacyResult

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


def caveats(privacy: Mapping[str, PrivacyResult]) -> list[str]:
    """What the promises to patients do not cover, each once."""
    return list(dict.fromkeys(f"{note}." for one in privacy.values() for note in one.caveats))


def behind_the_models(privacy: Mapping[str, PrivacyResult] | None, nouns: Nouns) -> Limit:
    """What is promised to those whom a teacher learned from."""
    title = f"The {nouns.samples} a teacher learned from"
    if not privacy:
        return title, (
            "Nothing is promised to them: there is no [privacy] section. The noise that hides the "
            "computation is not differential privacy."
        )
    weakest = max(privacy.values(), key=lambda one: one.spent_epsilon + (one.asked_epsilon or 0.0))
    notes = " ".join(caveats(privacy))
    return title, (
        f"Answers come from private models. {weakest.meaning} Everybody's own model is not "
        f"private, and stays at home. {notes}"
    )


def chosen_questions(*more: str) -> Limit:
    """What a student may ask, with what this kind adds."""
    always = (
        "A malicious student can encrypt anything and so choose what the numbers tell, even "
        "several weights in one number."
    )
    return "Chosen questions", " ".join([always, *more])


def sizes_and_times(nouns: Nouns, *more: str) -> Limit:
    """What everybody sees of an exchange, with what this kind adds."""
    always = (
        f"Partners are told exactly how many {nouns.samples} there are, see how long a computation "
        "takes, and learn the reason if they get no answer. Whoever watches the network sees who "
        "talks to whom, when and how much, and more if the channels are not encrypted, which is "
        "not done here."
    )
    return "Sizes and times", " ".join([always, *more])


def ledger_note(model: str, nouns: Nouns, *, tells: str, lasts: str) -> str:
    """How to read the ledger where numbers about single models are counted.

    Args:
        model: what answers, such as "model".
        nouns: for samples.
        tells: what an answer tells, a sentence.
        lasts: how answers of one teacher add up, a sentence.
    """
    return (
        f"{tells} The ledger counts how many numbers that was. Two bounds help to judge the count: "
        f"how many parameters the teacher's {model} has, and how many numbers its full predictions "
        f"for the student's {nouns.samples} would have been. {lasts} The count is not a formal "
        "guarantee."
    )
