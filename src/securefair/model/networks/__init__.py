"""Networks for images that encryption can evaluate, from their modules to their weights.

In the flow: trained in the clear (`train_network`), then folded into linear maps with squares
between them (`fold`) and brought to one range (`balanced_by_values`), which is all that
quantisation and circuits see.
"""

from securefair.model.balance import balanced_by_values
from securefair.model.networks.builder import EncryptableNetwork, flat_modules, he_network
from securefair.model.networks.fold import fold
from securefair.model.networks.head import NetworkHead
from securefair.model.networks.small import SmallName, small_network
from securefair.model.quadratic import Quadratic

__all__ = [
    "EncryptableNetwork",
    "NetworkHead",
    "Quadratic",
    "SmallName",
    "balanced_by_values",
    "flat_modules",
    "fold",
    "he_network",
    "small_network",
]
