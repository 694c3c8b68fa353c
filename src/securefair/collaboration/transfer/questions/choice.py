"""Which question was agreed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.collaboration.transfer.questions.encrypted import EncryptedQuestion
from securefair.collaboration.transfer.questions.interface import Question
from securefair.collaboration.transfer.questions.summed import SummedQuestion
from securefair.model.transfer.sums import sum_of

if TYPE_CHECKING:
    from securefair.collaboration.transfer.agreement import TransferAgreement


def choose_question(agreed: TransferAgreement) -> Question:
    """For a sum of what fits know, where one was chosen; else about patients."""
    summed = sum_of(agreed.chosen_sum.name)
    return EncryptedQuestion(agreed) if summed is None else SummedQuestion(agreed, summed)
