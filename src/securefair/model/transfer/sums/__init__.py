"""What hospitals may add up instead of asking about patients: sums of what their own fits know.

A `FitSum` is a file here and a line of the register (`sum_of`). Hospitals hide what they add under
masks that cancel in the sum, so nothing is encrypted, and nobody says anything of its patients to
be asked about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.model.transfer.sums.interface import FitSum as FitSum
    from securefair.model.transfer.sums.interface import Summed as Summed
    from securefair.model.transfer.sums.interface import transfer_sum as transfer_sum
    from securefair.model.transfer.sums.register import NONE as NONE
    from securefair.model.transfer.sums.register import ChosenSum as ChosenSum
    from securefair.model.transfer.sums.register import choose_sum as choose_sum
    from securefair.model.transfer.sums.register import sum_of as sum_of

# Only fits need scipy.
__getattr__, __dir__, __all__ = on_first_use(__name__)
