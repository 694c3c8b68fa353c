"""Networks for images that encryption can evaluate, from their modules to their weights.

In the flow: trained in the clear (`train_network`), then folded into linear maps with squares
between them (`fold`), which is all that quantisation and circuits see.
"""

from securefair.model.networks.builder import EncryptableNetwork, he_network
from securefair.model.networks.fold import fold
from securefair.model.networks.quadratic import Quadratic
from securefair.model.networks.training import EpochReport, TrainingRecipe, train_network

__all__ = [
    "EncryptableNetwork",
    "EpochReport",
    "Quadratic",
    "TrainingRecipe",
    "fold",
    "he_network",
    "train_network",
]
