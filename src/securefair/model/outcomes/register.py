"""Outcomes by name: a new outcome is a file, and one line of `config.registers.OUTCOMES`."""

from __future__ import annotations

from functools import cache

from securefair.config.registers import OUTCOMES, looked_up
from securefair.data.dataset import Samples
from securefair.model.outcomes.interface import StudyOutcome

REGISTERED = OUTCOMES

OF_CLASSES = {2: "two_classes"}
"""Outcomes of labels that are numbers of classes, by how many; `MORE_CLASSES` of others."""

MORE_CLASSES = "several_classes"


@cache
def outcome_named(name: str) -> StudyOutcome:
    """The outcome of that name.

    Raises:
        ConfigError: there is none.
    """
    found: StudyOutcome = looked_up(
        REGISTERED, name, "OUTCOME", problem="there is no such outcome", where="outcome"
    )
    return found


def outcome_with(key: str) -> StudyOutcome:
    """The outcome that needs a column which this key of a table's rules names; there is one."""
    return next(one for one in map(outcome_named, REGISTERED) if one.beside.get(key, False))


def agreed_outcome(name: str, classes: int) -> StudyOutcome:
    """The outcome of that name; where there is none, that of so many classes."""
    return outcome_named(name or OF_CLASSES.get(classes, MORE_CLASSES))


def outcome_of(samples: Samples) -> StudyOutcome:
    """The outcome that is known of samples."""
    return agreed_outcome(samples.outcome, samples.classes)


def lower_is_better(score: str) -> bool:
    """Whether a score, of any outcome, is better when lower."""
    return any(score in outcome_named(name).lower_is_better for name in REGISTERED)
