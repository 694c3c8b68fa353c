"""What a hospital keeps of a collaboration: a model with all that its next patient needs.

Place in the flow: a trained function and the rules of the table -> **a folder** -> predictions
for new patients. `record` is what the folder says besides weights, `hospital_model` predicts,
`folder` writes and reads, `card` tells people what the model is and what it is not.
"""

from securefair.prediction.card import ModelCard, markdown
from securefair.prediction.evaluation import ModelEvaluation, evaluate
from securefair.prediction.folder import load_model, save_model
from securefair.prediction.hospital_model import HospitalModel
from securefair.prediction.predicted import Prediction
from securefair.prediction.record import Calibration, ModelRecord, training_facts

__all__ = [
    "Calibration",
    "ModelEvaluation",
    "HospitalModel",
    "ModelCard",
    "ModelRecord",
    "Prediction",
    "evaluate",
    "load_model",
    "markdown",
    "save_model",
    "training_facts",
]
