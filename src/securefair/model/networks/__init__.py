"""Networks for images that encryption can evaluate, from their modules to their weights.

In the flow: trained in the clear (`train_network`), then folded into linear maps with squares
between them (`fold`) and brought to one range (`balanced_by_values`), which is all that
quantisation and circuits see.
"""

from securefair.model.balance import balanced_by_values
from securefair.model.networks.builder import EncryptableNetwork, he_network
from securefair.model.networks.cosines import cosine_responses
from securefair.model.networks.fold import fold
from securefair.model.networks.head import NetworkHead
from securefair.model.networks.larger import LargerNetwork, larger_network, soft_labels
from securefair.model.networks.reference import (
    Reference,
    ReferenceName,
    reference,
    reference_network,
)
from securefair.model.networks.small import SmallName, small_network
from securefair.model.networks.stored import load_weights, save_weights, trained_network
from securefair.model.networks.training import EpochReport, TrainingRecipe, train_network
from securefair.model.quadratic import Quadratic

__all__ = [
    "EncryptableNetwork",
    "EpochReport",
    "LargerNetwork",
    "NetworkHead",
    "Quadratic",
    "Reference",
    "ReferenceName",
    "SmallName",
    "TrainingRecipe",
    "balanced_by_values",
    "cosine_responses",
    "fold",
    "he_network",
    "larger_network",
    "load_weights",
    "reference",
    "reference_network",
    "save_weights",
    "small_network",
    "soft_labels",
    "train_network",
    "trained_network",
]
