"""Hypothesis transfer with averaged settings: the mathematics, in the clear.

A hospital fits regularised models to its own patients (`own_fit`), takes its peers' mean logit on
them as an offset, and averages all settings, "no peers" among them, by how well they predict its
own held-out patients (`transfer`). The result is one polynomial of the features.

The functions `surrogate` and `teacher_weights` are in modules of these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import open_door

if TYPE_CHECKING:
    from securefair.model.transfer.alone import OwnFit, own_fit
    from securefair.model.transfer.polynomial import Degree, Polynomial, weighted_sum
    from securefair.model.transfer.teacher_weights import TeacherWeights
    from securefair.model.transfer.transferred import (
        ALL,
        PeerWeight,
        Transferred,
        transfer,
        transfer_each,
    )

# Only fits need scipy.
__getattr__, __dir__, __all__ = open_door(__name__)
