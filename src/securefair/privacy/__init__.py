"""Differential privacy for the patients behind a model: fits whose answers tell little of anyone.

Convex heads are fitted by objective perturbation (`private_fit`), other models are trained by
DP-SGD (`PrivateTraining`). Both protect patients, with all rows that a patient has; both take
their noise from a `NoiseSource`, and their cost is counted before they run (`durable`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
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

_HOME = {
    "PatientGuarantee": "guarantees",
    "NoiseSource": "randomness",
    "Patients": "patients",
    "PrivacyTarget": "guarantees",
    "PrivateFit": "convex",
    "PrivateAlignments": "alignments",
    "PrivateTraining": "sgd",
    "SampledGaussian": "accounting",
    "SeededNoise": "randomness",
    "SgdSettings": "sgd",
    "SystemNoise": "randomness",
    "noise_multiplier": "accounting",
    "private_fit": "convex",
    "spent": "accounting",
}

# Whoever looks at a budget needs neither torch nor fits.
__getattr__, __dir__ = on_first_use(__name__, _HOME)
