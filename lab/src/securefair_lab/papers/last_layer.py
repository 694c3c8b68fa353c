"""Where a network divides into a body, which represents samples, and a head, which names classes.

The head is the last fully connected layer, as in FedRep and kNN-Per; what goes into it is the
representation.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from securefair.errors import ModelError
from securefair.model import Stacked


def head_mask(stacked: Stacked) -> Tensor:
    """Which numbers of a vector (V,) are the head's, bool.

    Raises:
        ModelError: the network has no fully connected layer, or nothing in front of the last.
    """
    name, _ = _last_linear(stacked.build(torch.Generator().manual_seed(0)))
    mask = torch.zeros(stacked.length, dtype=torch.bool, device=stacked.device)
    for slot in stacked.slots:
        mask[slot.start : slot.stop] = slot.name.rpartition(".")[0] == name
    if mask.all():
        raise ModelError(
            "this network has no body apart from its last layer",
            hint='Use one with a hidden layer, such as "mlp-32"',
        )
    return mask


def representations(stacked: Stacked, vector: Tensor, features: Tensor) -> Tensor:
    """What goes into the last layer of a network (V,): features (B, ...) -> (B, D), no gradient.

    Raises:
        ModelError: the network has no fully connected layer.
    """
    network = stacked.network(vector)
    _, layer = _last_linear(network)
    seen: list[Tensor] = []
    with torch.no_grad(), layer.register_forward_pre_hook(lambda _, given: seen.append(given[0])):
        for start in range(0, len(features), stacked.chunk):
            network(features[start : start + stacked.chunk])
    return torch.cat(seen)


def _last_linear(network: nn.Module) -> tuple[str, nn.Linear]:
    layers = [(n, m) for n, m in network.named_modules() if isinstance(m, nn.Linear)]
    if not layers:
        raise ModelError(
            "this network has no fully connected layer to tell a head from a body by",
            found=type(network).__name__,
            hint='Use one of torch layers, such as "mlp-32"',
        )
    return layers[-1]
