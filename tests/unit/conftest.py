"""Participants small enough for whole rounds in milliseconds, and a device that is pretended."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from support.populations import overlapping


@pytest.fixture
def make_hospital():
    """Samples of two overlapping classes, features in [-1, 1]."""

    def make(name="ann", seed=0, *, train=20, test=30, features=4):
        return overlapping(name, seed, train, test, features)

    return make


@pytest.fixture
def hospitals(make_hospital):
    """Three of them, of different sizes."""
    return [make_hospital(name, seed, train=20 + 2 * seed) for seed, name in enumerate("abc")]


ELSEWHERE = torch.device("lazy")  # a device type that torch knows, and starts nothing for


class Remote(torch.Tensor):
    """A tensor that says it is elsewhere."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> "Remote":
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
    tensors = list(_tensors((args, tuple(kwargs.values()))))
    remote = [t for t in tensors if isinstance(t, Remote)]
    near = [t for t in tensors if not isinstance(t, Remote) and t.dim() > 0]
    if remote and near and not _may_mix(func, args):
        raise RuntimeError(f"{func}: expected all tensors to be on the same device")
    device = kwargs.get("device")
    result_is_remote = bool(remote) if device is None else torch.device(device) == ELSEWHERE
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    inner = {name: _mapped(_inner, value) for name, value in kwargs.items()}
    result = func(*_mapped(_inner, args), **inner)
    for tensor in remote:  # in place: the same tensor, and not another one around it
        if isinstance(result, torch.Tensor) and tensor.inner is result:
            return tensor
    return _mapped(_remote, result) if result_is_remote else result


# torch's own `tree_map` takes longer than the operations.
def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_mapped(function, one) for one in value)
    return function(value)


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


@pytest.fixture
def pretended_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    """A device where tensors can do what they can on a GPU, and no more.

    They are wrappers around ordinary ones that refuse what CUDA refuses: operations with tensors
    elsewhere, and `numpy()`.
    """
    # There is no mixed precision on this device, even switched off.
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    make = torch.tensor
    monkeypatch.setattr(  # from a list torch would ask the device for memory
        torch, "tensor", lambda data, dtype=None, device="cpu": make(data, dtype=dtype).to(device)
    )
    with Pretended():
        yield ELSEWHERE
