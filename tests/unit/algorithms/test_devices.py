"""Algorithms keep their tensors on one device, shown on a device that is only pretended.

Where there is no accelerator, tensors "on" it are wrappers around ordinary ones that refuse what
CUDA refuses: operations with tensors elsewhere, and `numpy()`. Results must be those of the
processor, so nothing is lost on the way either.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from securefair.algorithms.cffl import Cffl
from securefair.algorithms.cgsv import Cgsv
from securefair.algorithms.cycle import Cycle
from securefair.algorithms.cycle_gossip import CycleGossip
from securefair.algorithms.dpfl import Dpfl
from securefair.algorithms.dssgd import Dssgd
from securefair.algorithms.early_stopping import EarlyStopping
from securefair.algorithms.fairsl import FairSl
from securefair.algorithms.fedavg import FedAvg
from securefair.algorithms.fedprox import FedProx
from securefair.algorithms.fine_tuned import FineTuned
from securefair.algorithms.free_riding import FreeRide
from securefair.algorithms.gossip_sgd import GossipSgd
from securefair.algorithms.rffl import Rffl
from securefair.algorithms.standalone import Standalone
from securefair.algorithms.vpdl import Vpdl
from securefair.model.architectures import ARCHITECTURES

ELSEWHERE = torch.device("lazy")  # a device type that torch knows, and starts nothing for


class Remote(torch.Tensor):
    """A tensor that says it is elsewhere."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Remote:
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=ELSEWHERE,
        )

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    __torch_function__ = torch._C._disabled_torch_function_impl

    def tolist(self) -> Any:
        return self.inner.tolist()  # as CUDA's, which copies first

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_positions(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_positions(key), value)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {})


def _positions(key: Any) -> Any:
    """Lists as tensors: torch would make them where it cannot."""
    return torch.tensor(key, dtype=torch.long) if isinstance(key, list) else key


class Pretended(TorchDispatchMode):
    """Lets tensors be created elsewhere, too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {})


def _computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    remote = [t for t in tensors if isinstance(t, Remote)]
    near = [t for t in tensors if not isinstance(t, Remote) and t.dim() > 0]
    if remote and near and not _may_mix(func, args):
        raise RuntimeError(f"{func}: expected all tensors to be on the same device")
    device = kwargs.get("device")
    result_is_remote = bool(remote) if device is None else torch.device(device) == ELSEWHERE
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    args, kwargs = tree_map(_inner, (args, kwargs))
    result = func(*args, **kwargs)
    for tensor in remote:  # in place: the same tensor, and not another one around it
        if isinstance(result, torch.Tensor) and tensor.inner is result:
            return tensor
    return tree_map(_remote, result) if result_is_remote else result


def _may_mix(func: Any, args: Any) -> bool:
    """Copies, and positions of elements, which CUDA takes from the processor as well."""
    name = func.overloadpacket.__name__
    if name in ("index", "index_put", "index_put_"):
        values = args[2:3]
        return isinstance(args[0], Remote) and all(isinstance(v, Remote) for v in values)
    return name == "copy_"


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, Remote) else value


def _remote(value: Any) -> Any:
    return Remote(value) if isinstance(value, torch.Tensor) else value


def normed(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(shape[0], 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, classes)
    )


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(ARCHITECTURES, "normed", normed)
    # There is no mixed precision on this device, even switched off.
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    make = torch.tensor
    monkeypatch.setattr(  # from a list torch would ask the device for memory
        torch, "tensor", lambda data, dtype=None, device="cpu": make(data, dtype=dtype).to(device)
    )
    with Pretended():
        yield


@pytest.mark.usefixtures("pretended")
def test_the_pretence_refuses_what_cuda_refuses() -> None:
    far, near = torch.ones(3).to(ELSEWHERE), torch.ones(3)
    assert far.device == ELSEWHERE
    for mixed in (
        lambda: far + near,
        lambda: torch.where(near > 0, far, 0.0),
        lambda: torch.cat([far, near]),
        lambda: near[torch.zeros(1, dtype=torch.long, device=ELSEWHERE)],
    ):
        with pytest.raises(RuntimeError, match="same device"):
            mixed()
    with pytest.raises(RuntimeError, match="numpy"):
        far.numpy()
    assert far[torch.tensor([0])].device == ELSEWHERE
    assert (far * 2).cpu().numpy().tolist() == [2, 2, 2]


ALGORITHMS = [
    Standalone(),
    EarlyStopping(rounds=2),
    FedAvg(),
    FedProx(),
    FineTuned(of=FedAvg(), rounds=1, epochs=1),
    Vpdl(),
    Cycle(),
    GossipSgd(pretraining_epochs=1),
    CycleGossip(pretraining_epochs=1, forced_every=2),
    Cffl(pretraining_epochs=1),
    Cffl(upload_rate=0.3, imbalance="classes"),
    Dssgd(pretraining_epochs=1),
    Rffl(warm_up=1, local_epochs=1),
    Cgsv(),
    Dpfl(pretraining_epochs=1, local_epochs=1, budget=1),
    FairSl(epochs_per_cycle=(1,), frozen_layers=1),
]


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.name)
def test_results_elsewhere_are_those_of_the_processor(algorithm: Any, make_cohort: Any) -> None:
    def run(device: str) -> tuple[Any, Any, Any]:
        population = make_cohort(
            network="normed",
            sizes=(10, 20, 20),
            batch_size=10,
            validation=10,
            device=device,
            free_riders={"c": FreeRide(scale=0.1)},
        )
        state = algorithm.init(population, 1)
        records = []
        for _ in range(2):
            state, record = algorithm.round(state, population)
            records.append(record)
        return records, state.learners.vectors, state.learners.momentum

    expected, here, _ = run("cpu")
    found, there, momentum = run(ELSEWHERE.type)
    assert there.device == momentum.device == ELSEWHERE
    torch.testing.assert_close(there.cpu(), here)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.accuracy, other.accuracy)
        np.testing.assert_allclose(one.cross_entropy, other.cross_entropy)
        assert (one.answered, one.numbers_sent) == (other.answered, other.numbers_sent)
