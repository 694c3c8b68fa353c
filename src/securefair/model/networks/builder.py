"""From an `nn.Sequential` to a network that encryption can evaluate, or a refusal by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from securefair.errors import ModelError
from securefair.model.linear_maps import Shape
from securefair.model.networks.supported import VANISHING, check_supported
from securefair.model.quadratic import Quadratic

_AXES: dict[type[nn.Module], int] = {
    nn.Conv2d: 3,
    nn.AvgPool2d: 3,
    nn.BatchNorm2d: 3,
    nn.BatchNorm1d: 1,
    nn.Linear: 1,
}
"""Axes of a sample that a module takes."""


class EncryptableNetwork(nn.Module):
    """Supported modules in order, on samples of one shape: (B, *input_shape) -> logits (B, M).

    Built by `he_network`, which checks the modules. Parameters keep their type: float32 trains
    faster, and folding computes in float64 whatever they are.
    """

    def __init__(self, layers: nn.Sequential, input_shape: Shape) -> None:
        super().__init__()
        self.layers = layers
        self.input_shape = input_shape
        self.training = layers.training

    def forward(self, images: Tensor) -> Tensor:
        """Samples (B, *input_shape), or flat ones (B, values) -> logits (B, M)."""
        logits: Tensor = self.layers(images.reshape(-1, *self.input_shape)).flatten(1)
        return logits

    def with_excess(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, M), and the summed `excess` of all activations: a penalty for training.

        Args:
            images: as of `forward`.
        """
        values = images.reshape(-1, *self.input_shape)
        excess = values.new_zeros(())
        for _, module in flat_modules(self.layers):
            if isinstance(module, Quadratic):
                excess = excess + module.excess(values)
            values = module(values)
        return values.flatten(1), excess

    @property
    def parameter_count(self) -> int:
        """Numbers that training changes: the disclosure bound of what the network can give away."""
        return sum(parameter.numel() for parameter in self.parameters())

    def logits(self, images: NDArray[np.float64], *, batch_size: int = 500) -> NDArray[np.float64]:
        """Samples, shaped or flat -> logits (B, M) in evaluation mode, without a gradient."""
        training, kind = self.training, next(self.parameters()).dtype
        self.eval()
        with torch.no_grad():
            pieces = [
                self(torch.as_tensor(images[start : start + batch_size], dtype=kind)).double()
                for start in range(0, len(images), batch_size)
            ]
        self.train(training)
        result: NDArray[np.float64] = torch.cat(pieces).numpy()
        return result


def he_network(layers: nn.Sequential, input_shape: Shape) -> EncryptableNetwork:
    """Check that a sequence can be evaluated under encryption, and wrap it.

    Args:
        layers: Conv2d, AvgPool2d, BatchNorm2d, BatchNorm1d, Quadratic, Flatten, Linear, and what
            does nothing in evaluation (Dropout, Identity); sequences of these too.
        input_shape: of one sample, (C, H, W) or (d,).

    Raises:
        ModelError: a module, or an option of one, that encryption cannot evaluate (the hint names
            the alternative); shapes that do not fit; nothing linear at all.
    """
    shape = tuple(input_shape) if isinstance(input_shape, Sequence) else ()
    if not isinstance(layers, nn.Sequential) or not shape:
        raise ModelError(
            "a network is a sequence of modules and the shape of one sample",
            where="layers" if shape else "input_shape",
            found=input_shape if not shape else type(layers).__name__,
            expected="nn.Sequential(...), (C, H, W) or (d,)",
        )
    modules = [module for _, module in flat_modules(layers)]
    for name, module in flat_modules(layers):
        if not isinstance(module, VANISHING):
            check_supported(name, module)
    if not any(isinstance(module, nn.Conv2d | nn.Linear) for module in modules):
        raise ModelError("a network needs a Conv2d or a Linear", found=f"{len(modules)} modules")
    network = EncryptableNetwork(layers, shape)
    _check_shapes(network)
    return network


def flat_modules(sequence: nn.Sequential, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Name and module of everything in a sequence, sequences among it taken apart."""
    for name, module in sequence.named_children():
        if isinstance(module, nn.Sequential):
            yield from flat_modules(module, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", module


def _check_shapes(network: EncryptableNetwork) -> None:
    """Let one sample of zeros through, module by module, so that an error names its place."""
    kind = next(network.parameters()).dtype
    training = network.training
    network.eval()
    values = torch.zeros((1, *network.input_shape), dtype=kind)
    for name, module in flat_modules(network.layers):
        shape = tuple(values.shape[1:])
        axes = _AXES.get(type(module), len(shape))
        if axes != len(shape):  # torch would take the first or the last axis for another one
            raise ModelError(
                "a module takes values of another shape",
                where=f"module {name}",
                found=f"values of shape {shape} into {module!r}",
                expected="(channels, height, width)" if axes == 3 else "(values,)",
                hint="Put nn.Flatten() before it" if axes == 1 else None,
            )
        try:
            with torch.no_grad():
                values = module(values)
        except (RuntimeError, ValueError, IndexError) as error:
            raise ModelError(
                "a module does not fit the one before it",
                where=f"module {name}",
                found=f"values of shape {shape} into {module!r}",
            ) from error
    network.train(training)
