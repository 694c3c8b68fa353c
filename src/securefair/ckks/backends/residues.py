"""Arrays of residues: numpy in this process's memory, tensors of torch on another device.

numpy arrays are all that a client, or a teacher on a CPU, needs: nothing here imports torch before
a device is named. Besides kernels both kinds of arrays need the few operations below, each of
which keeps its array's kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from securefair.ckks import memory
from securefair.config.defaults import DEVICE_PATTERN, PROCESSOR
from securefair.errors import BackendUnavailableError, ConfigError

if TYPE_CHECKING:
    import torch

Residues: TypeAlias = "NDArray[Any] | torch.Tensor"

Device: TypeAlias = "torch.device | None"
"""Where residues are; None for numpy arrays."""


def named_device(name: str) -> Device:
    """What computes on ciphertexts there; None for the native kernels on this processor.

    Args:
        name: "cpu"; "cpu-kernels" for the kernels of cards on this processor, where each of their
            bits can be checked without one; "cuda" or "cuda:1" for a card.

    Raises:
        ConfigError: no such name.
        BackendUnavailableError: there is no such card, or what compiles for it is missing.
    """
    if name == PROCESSOR:
        return None
    if not re.fullmatch(DEVICE_PATTERN, name):
        raise ConfigError(
            "unknown device", where="device", found=name, expected="cpu, cpu-kernels, cuda, cuda:1"
        )
    if find_spec("warp") is None:
        raise BackendUnavailableError(
            "what compiles kernels for devices is not installed",
            where="device",
            found=name,
            hint='pip install "securefair[gpu]"',
        )
    torch: Any = import_module("torch")
    kind, _, number = name.partition(":")
    if kind != "cuda":
        return cast("Device", torch.device("cpu"))
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= cards:
        raise BackendUnavailableError(
            "torch finds no such card",
            where="device",
            found=name,
            expected=f"one of {cards}" if cards else "a card, and torch's build for it",
            hint="make gpu-report sets up and checks what a card needs",
        )
    return cast("Device", torch.device("cuda", int(number or 0)))


def device_of(x: Residues) -> Device:
    """Where an array is."""
    return None if isinstance(x, np.ndarray) else x.device


def placed(values: NDArray[np.generic], device: Device) -> Residues:
    """Residues of any integer type -> int32, where they are wanted; copied only if they must be."""
    residues = values.astype(np.int32, copy=False)
    if device is None:
        return residues
    tensor: torch.Tensor = import_module("torch").from_numpy(residues).to(device)
    return tensor


def in_memory(x: Residues) -> NDArray[Any]:
    """The same as a numpy array."""
    return x if isinstance(x, np.ndarray) else x.cpu().numpy()


def contiguous(x: Residues) -> Residues:
    """The same in row-major order; copied only if it must be."""
    if not isinstance(x, np.ndarray):
        return x.contiguous()
    return x if x.flags.c_contiguous else copied(x)


def copied(x: Residues) -> Residues:
    """A copy."""
    if not isinstance(x, np.ndarray):
        return x.clone()
    result = unset(x, x.shape)
    overwrite_(result, x)
    return result


def spread(x: Residues, places: NDArray[np.int64], count: int) -> Residues:
    """Rows (k, ...) at these places (k,) of `count` rows; all others are zero."""
    result = unset(x, (count, *x.shape[1:]))
    result[:] = 0
    result[places.tolist()] = x  # type: ignore[assignment]  # both are of one kind
    return result


def overwrite_(x: Residues, values: Residues) -> None:
    """Other values into x, of the same shape or repeated along axes of length 1."""
    x[...] = values  # type: ignore[assignment]  # both are of one kind


def concatenate(parts: Sequence[Residues], axis: int = 0) -> Residues:
    """All of them, one after the other."""
    result: Residues = _operations(parts[0]).concatenate(list(parts), axis)
    return result


def stack(parts: Sequence[Residues], axis: int = 0) -> Residues:
    """All of them along a new axis."""
    result: Residues = _operations(parts[0]).stack(list(parts), axis)
    return result


def unset(like: Residues, shape: Sequence[int]) -> Residues:
    """An array of another shape, whose values are not set."""
    if isinstance(like, np.ndarray):
        return memory.empty(*shape)
    return like.new_empty(tuple(shape))


def zeros_like(x: Residues) -> Residues:
    """Zeros of the same kind and shape."""
    result: Residues = _operations(x).zeros_like(x)
    return result


def backwards(x: Residues) -> Residues:
    """The last axis from its end to its beginning."""
    result: Residues = _operations(x).flip(x, (-1,))
    return result


def gathered(x: Residues, places: NDArray[np.int64]) -> Residues:
    """The last axis in the order of these places (n,)."""
    if isinstance(x, np.ndarray):
        result = memory.empty(*x.shape[:-1], len(places))
        # In a tenth of the time of x[..., places]; all places are there, so that none is clipped.
        np.take(x, places, -1, result, "clip")
        return result
    # A copy: torch warns of arrays that are read only. By a list it would take as long as picking.
    which = import_module("torch").from_numpy(places.copy()).to(x.device)
    picked: Residues = x[..., which]
    return contiguous(picked)


def repeated(x: Residues, count: int) -> Residues:
    """One row (1, ...) several times, (count, ...)."""
    result = unset(x, (count, *x.shape[1:]))
    overwrite_(result, x)
    return result


def _operations(x: Residues) -> Any:
    """The module whose functions take such arrays: both call these alike."""
    return np if isinstance(x, np.ndarray) else import_module("torch")
