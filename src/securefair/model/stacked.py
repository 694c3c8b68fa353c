"""Many networks of one architecture as one computation: stacked parameters, one row a participant.

A network is a row of numbers, its `vector`: first everything that training changes, in the order
of `parameters()`, then batch norm's running statistics. Averaging, mixing and rewarding models are
then products of small matrices with a (N, V) array, and a training step of all participants is one
vectorised forward and backward pass (`torch.func`) instead of N.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from securefair.errors import ModelError

Build = Callable[[torch.Generator], nn.Module]
"""Builds one network; equal states of the generator give equal parameters."""

COUNTER = "num_batches_tracked"  # batch norm's only integer; unused while its momentum is fixed


@dataclass(frozen=True)
class Slot:
    """Where one tensor of the network lies in a vector."""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]


class Stacked:
    """The architecture that all rows share; holds no parameters itself.

    Args:
        build: makes a network; called once here for its shapes, and by `initial`.
        dtype: of all vectors and features.
        device: where everything is computed and kept.

    Raises:
        ModelError: the network has no parameters, or a layer that draws random numbers.
    """

    def __init__(
        self, build: Build, *, dtype: torch.dtype = torch.float32, device: str = "cpu"
    ) -> None:
        self.build = build
        self.dtype = dtype
        self.device = torch.device(device)
        self.template = self._built(0).to(self.device)
        for name, module in self.template.named_modules():
            if isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0:
                raise ModelError(
                    "a layer draws random numbers, so that equal seeds would not repeat a run",
                    where=name,
                    found=type(module).__name__,
                    hint="Use weight decay instead of dropout",
                )
        self.slots: tuple[Slot, ...] = tuple(_slots(self.template))
        trained = sum(parameter.numel() for parameter in self.template.parameters())
        if trained == 0:
            raise ModelError("the network has nothing to train", found="0 parameters")
        self.trained = trained  # P: of a vector's V numbers, the first P are trained
        self.length = self.slots[-1].stop  # V

    @property
    def layers(self) -> tuple[Slot, ...]:
        """The slots of what training changes: the tensors that quotas of coordinates are set by."""
        return tuple(slot for slot in self.slots if slot.stop <= self.trained)

    def initial(self, seeds: Sequence[int]) -> Tensor:
        """Freshly initialised networks, (N, V); equal seeds give equal rows."""
        return torch.stack([self.vector(self._built(seed)) for seed in seeds])

    def vector(self, network: nn.Module) -> Tensor:
        """The vector (V,) of a network of this architecture."""
        tensors = _named_tensors(network)
        return torch.cat(
            [
                tensors[slot.name].detach().reshape(-1).to(self.device, self.dtype)
                for slot in self.slots
            ]
        )

    def network(self, vector: Tensor) -> nn.Module:
        """A network of its own with the parameters of one vector (V,)."""
        result = self._built(0).to(self.device)
        with torch.no_grad():
            for slot, tensor in zip(self.slots, _named_tensors(result).values(), strict=True):
                tensor.copy_(vector[slot.start : slot.stop].view(slot.shape))
        return result.eval()

    def logits(self, vectors: Tensor, features: Tensor, *, shared: bool = False) -> Tensor:
        """Logits (N, B, M) of N networks in evaluation mode, without a gradient.

        Args:
            vectors: (N, V).
            features: (N, B, ...), each network its own; (B, ...) for all if `shared`.
        """
        with torch.no_grad():
            self.template.eval()
            return self._forward(self._unpacked(*self.parts(vectors)), features, shared=shared)

    def parts(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (N, V) as views: what is trained (N, P), and running statistics (N, V - P)."""
        return vectors[:, : self.trained], vectors[:, self.trained :]

    def train_logits(self, trained: Tensor, statistics: Tensor, features: Tensor) -> Tensor:
        """Logits (N, B, M) in training mode, differentiable with respect to `trained`, (N, P).

        Batch norm's new running statistics are written into `statistics` (N, V - P).
        """
        self.template.train()
        tensors = self._unpacked(trained, statistics)
        slots = self.slots[len(self.layers) :]
        for slot in slots:  # batch norm writes in place; under vmap, not through views
            tensors[slot.name] = tensors[slot.name].clone()
        logits = self._forward(tensors, features, shared=False)
        for slot in slots:
            own = slice(slot.start - self.trained, slot.stop - self.trained)
            statistics[:, own] = tensors[slot.name].reshape(len(statistics), -1)
        return logits

    def eval_logits(self, trained: Tensor, statistics: Tensor, features: Tensor) -> Tensor:
        """The same in evaluation mode: running statistics are used and stay as they are."""
        self.template.eval()
        return self._forward(self._unpacked(trained, statistics), features, shared=False)

    def _forward(self, tensors: dict[str, Tensor], features: Tensor, *, shared: bool) -> Tensor:
        def one(own: dict[str, Tensor], x: Tensor) -> Any:
            return functional_call(self.template, own, (x,))

        if len(next(iter(tensors.values()))) == 1:  # one network: no batching rules in the way
            own = {name: tensor[0] for name, tensor in tensors.items()}
            logits: Tensor = one(own, features if shared else features[0])
            return logits[None]
        result: Tensor = vmap(one, in_dims=(0, None if shared else 0))(tensors, features)
        return result

    def _unpacked(self, trained: Tensor, statistics: Tensor) -> dict[str, Tensor]:
        """The tensors of all networks by name, as views."""
        # One split: its gradient is one concatenation, where slices would each fill a zero (N, P).
        sizes = [slot.stop - slot.start for slot in self.slots]
        count = len(self.layers)
        pieces = [
            *torch.split(trained, sizes[:count], dim=1),
            *(torch.split(statistics, sizes[count:], dim=1) if sizes[count:] else ()),
        ]
        return {
            slot.name: piece.view(len(piece), *slot.shape)
            for slot, piece in zip(self.slots, pieces, strict=True)
        }

    def _built(self, seed: int) -> nn.Module:
        return self.build(torch.Generator().manual_seed(seed)).to(self.dtype)


def _named_tensors(network: nn.Module) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = dict(network.named_parameters())
    tensors |= {
        name: buffer
        for name, buffer in network.named_buffers()
        if name.rpartition(".")[2] != COUNTER
    }
    return tensors


def _slots(network: nn.Module) -> Iterator[Slot]:
    start = 0
    for name, tensor in _named_tensors(network).items():
        stop = start + math.prod(tensor.shape)
        yield Slot(name, start, stop, tuple(tensor.shape))
        start = stop
