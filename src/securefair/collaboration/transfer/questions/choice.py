"""Which question was agreed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.collaboration.transfer.questions.encrypted import EncryptedQuestion
from securefair.collaboration.transfer.questions.interface import TransferQuestion
from securefair.collaboration.transfer.questions.summed import SummedQuestion
from securefair.model.transfer.sums import sum_of
from securefair.protocol.messages import SINCE_0_3

if TYPE_CHECKING:
    from securefair.collaboration.transfer.terms import TransferTerms


def choose_question(agreed: TransferTerms) -> TransferQuestion:
    """For a sum of what fits know, where one was chosen; else about patients."""
    says_leaves = agreed.facts.protocol >= SINCE_0_3
    summed = sum_of(agreed.chosen_sum.name, evidence=says_leaves, squares=agreed.outcome.spreads)
    return EncryptedQuestion(agreed) if summed is None else SummedQuestion(agreed, summed)
