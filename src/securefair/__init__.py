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

from securefair.errors import open_door

if TYPE_CHECKING:
    from securefair.circuit.planner import ExchangePlan, plan_exchange
    from securefair.circuit.spec import ExchangeSpec, HeadBounds
    from securefair.ckks.keys import PublicKeys
    from securefair.collaboration.disclosure import DisclosureLimits
    from securefair.collaboration.distillation.participant import ModelConfig, Participant
    from securefair.collaboration.distillation.setup import Collaboration
    from securefair.data.conversion import make_samples
    from securefair.data.dataset import ParticipantData, Samples
    from securefair.errors import SecureFairError
    from securefair.exchange.student import Opened, Student
    from securefair.exchange.teacher import Teacher
    from securefair.library.call import collaborate
    from securefair.library.result import Result
    from securefair.model.heads import LinearHead, QuadraticHead, build_head
    from securefair.model.networks.head import NetworkHead
    from securefair.model.quadratic import Quadratic
    from securefair.model.training import OptimizerConfig
    from securefair.prediction.estimator import TransferClassifier
    from securefair.prediction.folder import load_model
    from securefair.prediction.hospital_model import HospitalModel
    from securefair.run.callbacks import Callback, MlflowLogger, TensorBoardLogger
    from securefair.worth.reputation import ReputationRule

__version__ = "0.1.0"

# Torch and SEAL take a second to load.
__getattr__, __dir__, __all__ = open_door(__name__)
