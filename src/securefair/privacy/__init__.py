"""Differential privacy for the patients behind a model: fits whose answers tell little of anyone.

Convex heads are fitted by objective perturbation (`private_fit`), other models are trained by
DP-SGD (`PrivateTraining`). Both protect patients, with all rows that a patient has; both take
their noise from a `NoiseSource`, and their cost is counted before they run (`durable`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.privacy.accounting import SampledGaussian as SampledGaussian
    from securefair.privacy.accounting import noise_multiplier as noise_multiplier
    from securefair.privacy.accounting import spent as spent
    from securefair.privacy.alignments import PrivateAlignments as PrivateAlignments
    from securefair.privacy.convex import PrivateFit as PrivateFit
    from securefair.privacy.convex import private_fit as private_fit
    from securefair.privacy.guarantees import PatientGuarantee as PatientGuarantee
    from securefair.privacy.guarantees import PrivacyTarget as PrivacyTarget
    from securefair.privacy.patients import Patients as Patients
    from securefair.privacy.randomness import NoiseSource as NoiseSource
    from securefair.privacy.randomness import SeededNoise as SeededNoise
    from securefair.privacy.randomness import SystemNoise as SystemNoise
    from securefair.privacy.sgd import PrivateTraining as PrivateTraining
    from securefair.privacy.sgd import SgdSettings as SgdSettings


# Whoever looks at a budget needs neither torch nor fits.
__getattr__, __dir__, __all__ = on_first_use(__name__)
