"""Differential privacy for the patients behind a model: fits whose answers tell little of anyone.

Convex heads are fitted by objective perturbation (`private_fit`), other models are trained by
DP-SGD (`PrivateTraining`). Both protect patients, with all rows that a patient has; both take
their noise from a `NoiseSource`, and their cost is counted before they run (`durable`).
"""

from securefair.privacy.accounting import SampledGaussian, noise_multiplier, spent
from securefair.privacy.alignments import PrivateAlignments
from securefair.privacy.convex import PrivateFit, private_fit
from securefair.privacy.guarantees import PatientGuarantee, PrivacyTarget
from securefair.privacy.patients import Patients
from securefair.privacy.randomness import NoiseSource, SeededNoise, SystemNoise
from securefair.privacy.sgd import PrivateTraining, SgdSettings

__all__ = [
    "PatientGuarantee",
    "NoiseSource",
    "Patients",
    "PrivacyTarget",
    "PrivateFit",
    "PrivateAlignments",
    "PrivateTraining",
    "SampledGaussian",
    "SeededNoise",
    "SgdSettings",
    "SystemNoise",
    "noise_multiplier",
    "private_fit",
    "spent",
]
