"""Hypothesis transfer with averaged settings: the mathematics, in the clear.

A hospital fits regularised models to its own patients (`own_fit`), takes its peers' mean logit on
them as an offset, and averages all settings, "no peers" among them, by how well they predict its
own held-out patients (`transfer`). The result is one polynomial of the features.

The functions `surrogate` and `teacher_weights` are in modules of these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.model.transfer.alone import OwnFit as OwnFit
    from securefair.model.transfer.alone import own_fit as own_fit
    from securefair.model.transfer.answers import asked_about as asked_about
    from securefair.model.transfer.answers import (
        label_free_reconstructor as label_free_reconstructor,
    )
    from securefair.model.transfer.answers import numbers_a_logit as numbers_a_logit
    from securefair.model.transfer.answers import rows_by_patient as rows_by_patient
    from securefair.model.transfer.estimates import DRAWS as DRAWS
    from securefair.model.transfer.estimates import LinearEstimates as LinearEstimates
    from securefair.model.transfer.estimates import intervals as intervals
    from securefair.model.transfer.estimates import linear_estimates as linear_estimates
    from securefair.model.transfer.families import Family as Family
    from securefair.model.transfer.leafed import Fitted as Fitted
    from securefair.model.transfer.leafed import Leafed as Leafed
    from securefair.model.transfer.leafed import weighted_sum as weighted_sum
    from securefair.model.transfer.leafed import with_leaves as with_leaves
    from securefair.model.transfer.peers import FEWEST_SUMMED as FEWEST_SUMMED
    from securefair.model.transfer.peers import Opened as Opened
    from securefair.model.transfer.peers import asked_peers as asked_peers
    from securefair.model.transfer.polynomial import Degree as Degree
    from securefair.model.transfer.polynomial import Polynomial as Polynomial
    from securefair.model.transfer.teacher_weights import TeacherWeights as TeacherWeights
    from securefair.model.transfer.transferred import ALL as ALL
    from securefair.model.transfer.transferred import PeerWeight as PeerWeight
    from securefair.model.transfer.transferred import Transferred as Transferred
    from securefair.model.transfer.transferred import transfer as transfer
    from securefair.model.transfer.transferred import transfer_each as transfer_each
    from securefair.model.transfer.transferred import without_peers as without_peers


# Only fits need scipy.
__getattr__, __dir__, __all__ = on_first_use(__name__)
