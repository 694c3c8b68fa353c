"""What hospitals of a transfer ask each other once: a `TransferQuestion` is a file here.

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
    from securefair.collaboration.transfer.questions.interface import (
        HospitalExchange as HospitalExchange,
    )
    from securefair.collaboration.transfer.questions.interface import MaskKeys as MaskKeys
    from securefair.collaboration.transfer.questions.interface import StoredKeys as StoredKeys
    from securefair.collaboration.transfer.questions.interface import (
        TransferQuestion as TransferQuestion,
    )

__getattr__, __dir__, __all__ = on_first_use(__name__)
