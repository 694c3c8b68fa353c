"""A card that is not there: tensors of another device than this process's memory, on the processor.

Everything that torch and the kernels do with them is done, by the kernels of cards on the
processor. What mixes them with tensors that stayed behind raises, as a card would.
"""

from __future__ import annotations

from typing import Any

import torch
import warp as wp
from torch.overrides import TorchFunctionMode

from securefair.ckks.backends import device_launch, residues_device

CARD = torch.device("cuda", 7)
_INDICES = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)


class There(torch.Tensor):
    """A tensor on the card."""

    @property
    def device(self) -> torch.device:
        """Where it pretends to be."""
        return CARD


def _tensors(value: Any) -> Any:
    """All tensors in nested arguments: indices come in tuples."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _plain(value: Any) -> Any:
    if isinstance(value, There):
        return value.as_subclass(torch.Tensor)
    if isinstance(value, list | tuple):
        return type(value)(_plain(part) for part in value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return torch.device("cpu") if _is_device(value) else value


def _moved(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.as_subclass(There)
    if isinstance(value, list | tuple) and not isinstance(value, torch.Size):
        return type(value)(_moved(part) for part in value)
    return value


class Pretended(TorchFunctionMode):
    """Keeps tensors apart while it lasts, and counts those that were moved."""

    def __init__(self) -> None:
        super().__init__()
        self.moved = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """One function of torch."""
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") == "__get__":  # shapes and types, and where it is
            asked = func(*args, **kwargs) if not isinstance(args[0], There) else None
            if asked is None:
                with torch._C.DisableTorchFunctionSubclass():
                    asked = func(*args, **kwargs)
                asked = CARD if isinstance(asked, torch.device) else _moved(asked)
            return asked
        with torch._C.DisableTorchFunctionSubclass():
            given = list(_tensors([args, kwargs]))
            there = [one for one in given if isinstance(one, There)]
            target = CARD in [a for a in (*args, kwargs.get("device")) if _is_device(a)]
            if there and any(not isinstance(one, There) and one.ndim for one in given):
                raise RuntimeError(f"{func.__name__}: tensors are on different devices")
            if func is torch.Tensor.numpy and there:
                raise RuntimeError("a tensor of a card is no array")
            result = func(*_plain(args), **_plain(kwargs))
            stays = func is torch.Tensor.cpu
            self.moved += target and bool(given) and not there
            return _moved(result) if (there or target) and not stays else result


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device)


def pretend(monkeypatch: Any) -> Pretended:
    """A mode in which "cuda:7" is there; kernels refuse what is not on it."""
    launch, from_torch = device_launch.launch, wp.from_torch

    def launched(kernel: Any, size: Any, *arguments: Any, on: torch.device) -> None:
        assert on == CARD, f"{kernel.key} runs on {on}"
        launch(kernel, tuple(size), *arguments, on=torch.device("cpu"))

    def shared(tensor: torch.Tensor, dtype: Any = None, *, return_ctype: bool = False) -> Any:
        assert isinstance(tensor, There), "a kernel reads what is not on its device"
        with torch._C.DisableTorchFunctionSubclass():
            return from_torch(tensor.as_subclass(torch.Tensor), dtype, return_ctype=return_ctype)

    monkeypatch.setattr(residues_device, "launch", launched)
    monkeypatch.setattr(device_launch.wp, "from_torch", shared)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    return Pretended()
