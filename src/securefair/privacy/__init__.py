"""Differential privacy for the patients behind a model: fits whose answers tell little of anyone.

Convex heads are fitted by objective perturbation (`private_fit`), other models are trained by
DP-SGD (`PrivateTraining`). Both protect patients, with all rows that a patient has; both take
their noise from a `NoiseSource`, and their cost is counted before they run (`durable`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import open_door

if TYPE_CHECKING:
    from securefair.privacy.accounting import SampledGaussian, noise_multiplier, spent
    from securefair.privacy.alignments import PrivateAlignments
    from securefair.privacy.convex import PrivateFit, private_fit
    from securefair.privacy.guarantees import PatientGuarantee, PrivacyTarget
    from securefair.privacy.patients import Patients
    from securefair.privacy.randomness import NoiseSource, SeededNoise, SystemNoise
    from securefair.privacy.sgd import PrivateTraining, SgdSettings

# Whoever looks at a budget needs neither torch nor fits.
__getattr__, __dir__, __all__ = open_door(__name__)
