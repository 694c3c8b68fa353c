"""What hospitals of a transfer ask each other once: a `Question` is a file here.

`choose_question` gives the one that was agreed on: about patients, under encryption, or for a sum
of what fits know (`securefair.model.transfer.sums`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.collaboration.transfer.questions.choice import (
        choose_question as choose_question,
    )
    from securefair.collaboration.transfer.questions.interface import Charged as Charged
    from securefair.collaboration.transfer.questions.interface import Exchange as Exchange
    from securefair.collaboration.transfer.questions.interface import MaskKeys as MaskKeys
    from securefair.collaboration.transfer.questions.interface import Question as Question
    from securefair.collaboration.transfer.questions.interface import StoredKeys as StoredKeys

__getattr__, __dir__, __all__ = on_first_use(__name__)
