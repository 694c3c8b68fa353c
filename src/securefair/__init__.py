"""Privacy-first secure computation for collaborative learning.

Hospitals improve their models together without showing each other patients, models or gradients:

    samples -> features -> slots -> ciphertexts           student: data and secret key
                                        |
                          encrypted inference, release    teacher: a private model
                                        |
    released numbers -> teacher logits -> alignment -> reputation -> sharing -> optimiser step

`steps` tells this story in code, `collaborate` runs a whole collaboration. A single exchange, three
lines on each side:

>>> import numpy as np
>>> import securefair as sf
>>> rng = np.random.default_rng(0)
>>> samples = sf.Samples(rng.uniform(-1, 1, (100, 6)), rng.integers(0, 2, 100), classes=2)
>>> model = sf.build_head("linear", 6, 0, 2, seed=0)
>>> spec = sf.ExchangeSpec(features=6, classes=2, samples=100, hidden=0, release="logits")
>>> student = sf.Student(spec)
>>> request = student.request(samples)               # bytes, to the teacher
>>> answer = sf.Teacher(model, spec).answer(request) # bytes, back to the student
>>> error = np.abs(student.open(answer).logits - model.logits(samples.features)).max()
>>> bool(error <= student.plan.error_bound)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.circuit.planner import ExchangePlan as ExchangePlan
    from securefair.circuit.planner import plan_exchange as plan_exchange
    from securefair.circuit.spec import ExchangeSpec as ExchangeSpec
    from securefair.circuit.spec import HeadBounds as HeadBounds
    from securefair.ckks.keys import PublicKeys as PublicKeys
    from securefair.data.conversion import make_samples as make_samples
    from securefair.data.dataset import ParticipantData as ParticipantData
    from securefair.data.dataset import Samples as Samples
    from securefair.errors import SecureFairError as SecureFairError
    from securefair.exchange.opened import Opened as Opened
    from securefair.exchange.student import Student as Student
    from securefair.exchange.teacher import Teacher as Teacher
    from securefair.library.call import collaborate as collaborate
    from securefair.library.result import Result as Result
    from securefair.library.validating import validate as validate
    from securefair.model.heads import LinearHead as LinearHead
    from securefair.model.heads import QuadraticHead as QuadraticHead
    from securefair.model.heads import build_head as build_head
    from securefair.model.networks.head import NetworkHead as NetworkHead
    from securefair.model.quadratic import Quadratic as Quadratic
    from securefair.prediction.estimator import TransferClassifier as TransferClassifier
    from securefair.prediction.folder import load_model as load_model
    from securefair.prediction.hospital_model import HospitalModel as HospitalModel
    from securefair.prediction.outcome_estimators import TransferRate as TransferRate
    from securefair.prediction.outcome_estimators import TransferRegressor as TransferRegressor
    from securefair.prediction.survival_estimator import TransferSurvival as TransferSurvival
    from securefair.run.callbacks import Callback as Callback

__version__ = "0.2.0"


# Torch and SEAL take a second to load.
__getattr__, __dir__, __all__ = on_first_use(__name__)
