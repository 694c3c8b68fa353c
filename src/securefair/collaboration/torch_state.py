"""What torch makes as parts of a snapshot: tensors and training states. See `state`."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from securefair.model.training import TrainState


def parts_of(value: object) -> list[Any]:
    """A tag and what a snapshot holds of this value; [None] where it is not of torch.

    Of a training state that is parameters in the model's order, and the momentum of each, which is
    None before the first step.
    """
    if isinstance(value, Tensor):
        return ["tensor", value.detach().cpu().numpy()]
    if isinstance(value, TrainState):
        return ["train_state", list(value.model.parameters()), value.momentum]
    return [None]


def tensor_of(numbers: NDArray[Any], template: object) -> Tensor:
    """A tensor, on the device of the template if that is one."""
    tensor = torch.from_numpy(numbers)
    return tensor.to(template.device) if isinstance(template, Tensor) else tensor


def train_state_of(
    values: list[Tensor], momentum: list[Tensor | None], template: object
) -> TrainState:
    """The template with these parameters, and how they move; the template stays as it was.

    Raises:
        ValueError: there is no template, or they do not fit it.
    """
    if not isinstance(template, TrainState):
        raise ValueError("a training state has no counterpart")
    train_state = template.copy()
    parameters = list(train_state.model.parameters())
    with torch.no_grad():
        for parameter, value in zip(parameters, values, strict=True):
            if parameter.shape != value.shape or parameter.dtype != value.dtype:
                raise ValueError(f"a parameter of shape {tuple(value.shape)} does not fit")
            parameter.copy_(value)
    if len(momentum) != len(parameters):
        raise ValueError(f"momentum of {len(momentum)} parameters does not fit")
    train_state.momentum[:] = momentum
    return train_state
