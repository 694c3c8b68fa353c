"""Hypothesis transfer with averaged settings: the mathematics, in the clear.

A hospital fits regularised models to its own patients (`own_fit`), takes its peers' mean logit on
them as an offset, and averages all settings, "no peers" among them, by how well they predict its
own held-out patients (`transfer`). The result is one polynomial of the features.
"""

from securefair.model.transfer.alone import OwnFit, own_fit
from securefair.model.transfer.polynomial import Degree, Polynomial, weighted_sum
from securefair.model.transfer.surrogate import explained, surrogate
from securefair.model.transfer.teacher_weights import TeacherWeights, teacher_weights
from securefair.model.transfer.transferred import (
    ALL,
    PeerWeight,
    Transferred,
    transfer,
    transfer_each,
)

__all__ = [
    "ALL",
    "Degree",
    "OwnFit",
    "Polynomial",
    "TeacherWeights",
    "Transferred",
    "PeerWeight",
    "explained",
    "own_fit",
    "surrogate",
    "teacher_weights",
    "transfer",
    "transfer_each",
    "weighted_sum",
]
