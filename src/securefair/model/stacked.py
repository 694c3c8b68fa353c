"""Many networks of one architecture as one computation: stacked parameters, one row a participant.

A network is a row of numbers, its `vector`: first everything that training changes, in the order
of `parameters()`, then batch norm's running statistics. Averaging, mixing and rewarding models are
then products of small matrices with a (N, V) array.

Networks compute in one of two forms, with equal results up to rounding:

- "batched": one forward and backward pass of several: layer by layer where all layers are known
  (`stacked_layers`), else as `torch.func` makes it of the network's code.
- "rows": one network after the other. Large networks fill a GPU on their own, and convolutions that
  `torch.func` has put together are up to twice as slow on processors.

On a processor rows share the threads that torch may use, one network each. A batched computation is
one for all networks, and torch divides its operations: threads that compute parts of small steps
side by side wait for each other, and gain nothing (docs/notebook/plaintext-speed.md).
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from securefair.config import defaults
from securefair.errors import ModelError
from securefair.model.stacked_layers import LayerSequence

Build = Callable[[torch.Generator], nn.Module]
"""Builds one network; equal states of the generator give equal parameters."""

Form = Literal["batched", "rows"]
Item = TypeVar("Item")
Result = TypeVar("Result")

LARGE = 1_000_000  # parameters from which a network fills a GPU on its own
SMALL = 20_000  # parameters up to which torch.func's convolutions cost less than they save
CONVOLVED = 32  # samples whose images, after a convolution, stay in a core's cache
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
        form: how networks compute; None: rows for networks of more than `LARGE` parameters, on a
            processor for those with convolutions, unknown layers and more than `SMALL`; batched
            for all others.

    Raises:
        ModelError: the network has no parameters, a layer that draws random numbers, or running
            statistics that count batches.
    """

    def __init__(
        self,
        build: Build,
        *,
        dtype: torch.dtype = torch.float32,
        device: str = defaults.PROCESSOR,
        form: Form | None = None,
    ) -> None:
        self.build = build
        self.dtype = dtype
        self.device = torch.device(device)
        network = self._built(0)
        for name, module in network.named_modules():
            if isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0:
                raise ModelError(
                    "a layer draws random numbers, so that equal seeds would not repeat a run",
                    where=name,
                    found=type(module).__name__,
                    hint="Use weight decay instead of dropout",
                )
            if isinstance(module, nn.modules.batchnorm._NormBase) and module.momentum is None:
                raise ModelError(
                    "running statistics over all batches would need the number of batches, which "
                    "models that are averaged do not share",
                    where=name,
                    found="momentum=None",
                    hint="Give batch norm a momentum, such as 0.1",
                )
        self.slots: tuple[Slot, ...] = tuple(_slots(network))
        trained = sum(parameter.numel() for parameter in network.parameters())
        if trained == 0:
            raise ModelError("the network has nothing to train", found="0 parameters")
        self.trained = trained  # P: of a vector's V numbers, the first P are trained
        self.length = self.slots[-1].stop  # V
        self.batch_norm = any(
            isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules()
        )
        # In training, all samples of a batch then count, even those of weight 0.
        self.measures_batches = self.batch_norm or self.length > self.trained
        on_processor = self.device.type == "cpu"
        last, first = torch.channels_last, torch.contiguous_format
        self._sequence = LayerSequence.of(network, last if on_processor else first)
        convolves = any(isinstance(module, nn.Conv2d) for module in network.modules())
        self._convolves = convolves and on_processor
        self.form: Form = form or self._best_form()
        self._layout = self._best_layout(network)
        self._shape_only = network.to("meta")
        self._local = threading.local()

    def __reduce__(self) -> tuple[Callable[[], Stacked], tuple[()]]:
        """Another process builds it anew: templates belong to threads of this one."""
        again = partial(
            Stacked, self.build, dtype=self.dtype, device=str(self.device), form=self.form
        )
        return again, ()

    def _best_form(self) -> Form:
        slow = self._convolves and self._sequence is None
        return "rows" if self.trained > (SMALL if slow else LARGE) else "batched"

    def _best_layout(self, network: nn.Module) -> torch.memory_format:
        """Of a network on its own: where a pixel's channels meet, pooling is faster, and so are
        gradients of small convolutions with strides (which `LayerSequence` takes if it can).
        """
        pools = any(isinstance(m, (nn.MaxPool2d, nn.AdaptiveAvgPool2d)) for m in network.modules())
        strides = any(isinstance(m, nn.Conv2d) and max(m.stride) > 1 for m in network.modules())
        if self.device.type == "cpu" and (pools or (strides and self._sequence is None)):
            return torch.channels_last
        return torch.contiguous_format

    @property
    def _template(self) -> nn.Module:
        """A network to borrow the code of; each thread has one, as borrowing changes it."""
        if not hasattr(self._local, "template"):
            self._local.template = copy.deepcopy(self._shape_only)
        template: nn.Module = self._local.template
        return template

    def groups(self, rows: Sequence[int]) -> list[list[int]]:
        """Which of the networks train as one computation; give those with most work first."""
        return [[row] for row in rows] if self.form == "rows" else [list(rows)]

    def each(self, compute: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The results of independent computations; give the longest first.

        On a processor they share the threads that torch may use, one each.
        """
        threads = torch.get_num_threads()
        lanes = min(threads, len(items))
        if self.device.type != "cpu" or lanes < 2:
            return [compute(item) for item in items]
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(lanes) as pool:
                return list(pool.map(compute, items))
        finally:
            torch.set_num_threads(threads)

    @cached_property
    def layers(self) -> tuple[Slot, ...]:
        """The slots of what training changes: the tensors that quotas of coordinates are set by."""
        return tuple(slot for slot in self.slots if slot.stop <= self.trained)

    @property
    def chunk(self) -> int:
        """How many samples `logits` is best given at once, so that activations stay in a cache."""
        return CONVOLVED if self._convolves else 2048

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
        # Without gradients torch.func's convolutions save nothing.
        one_by_one = self.form == "rows" or (self._convolves and self._sequence is None)

        def logits(own: Sequence[int]) -> Tensor:
            part = slice(own[0], own[-1] + 1)
            with torch.no_grad():
                self._template.eval()
                tensors = self._unpacked(*self.parts(vectors[part]))
                return self._forward(tensors, features if shared else features[part], shared=shared)

        rows = list(range(len(vectors)))
        return torch.cat(self.each(logits, [[row] for row in rows] if one_by_one else [rows]))

    def parts(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors (N, V) as views: what is trained (N, P), and running statistics (N, V - P)."""
        return vectors[:, : self.trained], vectors[:, self.trained :]

    def leaves(self, trained: Tensor) -> list[Tensor]:
        """The tensors (N, ...) of all networks as views of `trained` (N, P), to differentiate by.

        They follow changes of `trained` in place, so one list serves all steps of a training.
        """
        return [
            trained[:, slot.start : slot.stop].detach().view(-1, *slot.shape).requires_grad_()
            for slot in self.layers
        ]

    def train_logits(
        self, leaves: Sequence[Tensor], statistics: Tensor, features: Tensor
    ) -> Tensor:
        """Logits (N, B, M) in training mode, differentiable with respect to `leaves`.

        Batch norm's new running statistics are written into `statistics` (N, V - P).
        """
        self._template.train()
        slots = self.slots[len(leaves) :]
        tensors = {slot.name: leaf for slot, leaf in zip(self.layers, leaves, strict=True)}
        for slot in slots:  # batch norm writes in place; under vmap, not through views
            piece = statistics[:, slot.start - self.trained : slot.stop - self.trained]
            tensors[slot.name] = piece.reshape(-1, *slot.shape).clone()
        logits = self._forward(tensors, features, shared=False)
        for slot in slots:
            own = slice(slot.start - self.trained, slot.stop - self.trained)
            statistics[:, own] = tensors[slot.name].reshape(len(statistics), -1)
        return logits

    def eval_logits(self, trained: Tensor, statistics: Tensor, features: Tensor) -> Tensor:
        """Logits (N, B, M) in evaluation mode, differentiable with respect to `trained`, (N, P)."""
        self._template.eval()
        return self._forward(self._unpacked(trained, statistics), features, shared=False)

    def _forward(self, tensors: dict[str, Tensor], features: Tensor, *, shared: bool) -> Tensor:
        single = len(next(iter(tensors.values()))) == 1
        if self._sequence is not None and (torch.is_grad_enabled() or not single):
            return self._sequence(tensors, features, shared=shared)
        template = self._template

        def one(own: dict[str, Tensor], x: Tensor) -> Any:
            return functional_call(template, own, (x,))

        if single:  # no batching rules in the way
            own = {name: tensor[0] for name, tensor in tensors.items()}
            x = features if shared else features[0]
            if x.dim() == 4:
                x = x.contiguous(memory_format=self._layout)
            logits: Tensor = one(own, x)
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
        with torch.no_grad():  # weights that are computed from others cannot be copied otherwise
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
