"""Gradients as one flat vector, for comparing the directions of two losses."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


def flat_gradient(loss: Tensor, model: nn.Module) -> NDArray[np.float64]:
    """The gradient of a scalar loss over all trainable parameters, (P,) float64.

    In the order of `model.parameters()`; zeros where the loss does not depend on a parameter. The
    graph is kept, so several losses of one forward pass can be asked in turn; the parameters'
    own `.grad` is left alone. Parameters may be on any device.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    pieces = torch.autograd.grad(
        loss, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    joined = torch.cat([piece.reshape(-1) for piece in pieces])
    flat: NDArray[np.float64] = joined.double().cpu().numpy()
    return flat
