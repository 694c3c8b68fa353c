"""What hospitals add up, by the settings and by how many they are: resolved here alone."""

from __future__ import annotations

from collections.abc import Iterable

from securefair.config import TransferSection
from securefair.config.transfer import answers_from_leaves, degree_of
from securefair.model.outcomes import StudyOutcome
from securefair.model.transfer.sums import ChosenSum, choose_sum


def chosen_sum(
    section: TransferSection,
    teachers: Iterable[int],
    outcome: StudyOutcome,
    *,
    private: bool,
    brought: bool = False,
) -> ChosenSum:
    """What hospitals add up, and why.

    Args:
        section: of the settings.
        teachers: how many every student has.
        outcome: that is predicted.
        private: answers come from private models.
        brought: somebody answers by a model that it brings.

    Raises:
        ConfigError: a sum is wanted that these settings do not allow.
    """
    return choose_sum(
        section.sums,
        min(teachers),
        linear=degree_of(section) == 1 and not answers_from_leaves(section),
        separable=outcome.tells_classes,
        private=private,
        brought=brought,
        opened=section.opened,
    )
