"""Outcomes: what a study asks of a patient, and what a linear predictor means for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.model.outcomes.interface import OwnPart as OwnPart
    from securefair.model.outcomes.interface import StudyOutcome as StudyOutcome
    from securefair.model.outcomes.likelihood import Likelihood as Likelihood
    from securefair.model.outcomes.register import agreed_outcome as agreed_outcome
    from securefair.model.outcomes.register import lower_is_better as lower_is_better
    from securefair.model.outcomes.register import outcome_named as outcome_named
    from securefair.model.outcomes.register import outcome_of as outcome_of

# Only fits need scipy.
__getattr__, __dir__, __all__ = on_first_use(__name__)
