"""Networks of public benchmarks that encryption can evaluate: layers, recipes and weights.

Trained in the clear (`train_network`), then folded and balanced by `securefair.model.networks`.
"""

from securefair_lab.networks.cosines import cosine_responses
from securefair_lab.networks.larger import LargerNetwork, larger_network, soft_labels
from securefair_lab.networks.reference import (
    Reference,
    ReferenceName,
    reference,
    reference_network,
)
from securefair_lab.networks.stored import load_weights, save_weights, trained_network
from securefair_lab.networks.training import EpochReport, TrainingRecipe, train_network

__all__ = [
    "EpochReport",
    "LargerNetwork",
    "Reference",
    "ReferenceName",
    "TrainingRecipe",
    "cosine_responses",
    "larger_network",
    "load_weights",
    "reference",
    "reference_network",
    "save_weights",
    "soft_labels",
    "train_network",
    "trained_network",
]
