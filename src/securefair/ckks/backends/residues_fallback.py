"""The kernels on numpy arrays by torch's operations, where no native module is built.

Arrays and tensors share their memory, so nothing is copied on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.ckks.backends import residues_torch
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.residues import Device


def receive(
    first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis, device: Device
) -> NDArray[Any] | None:
    """See `kernels.receive`; None if a residue is not below its prime."""
    del device  # None: nothing else comes here
    received = residues_torch.receive(first, seeds, basis, torch.device("cpu"))
    return None if received is None else received.numpy()


def __getattr__(name: str) -> Callable[..., Any]:
    """Any other kernel."""
    kernel = getattr(residues_torch, name)

    def on_arrays(*arguments: Any) -> Any:
        result = kernel(*map(_shared, arguments))
        return result.numpy() if isinstance(result, torch.Tensor) else result

    return on_arrays


def _shared(argument: Any) -> Any:
    """Arrays as tensors, also those in lists and tuples."""
    if isinstance(argument, np.ndarray):
        return torch.from_numpy(argument)
    if isinstance(argument, list | tuple):
        return [_shared(part) for part in argument]
    return argument
