"""The kernels on numpy arrays by the devices' source, where no native module is built.

Arrays and tensors share their memory, so nothing is copied on the way but read-only arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from securefair.ckks.backends import residues_device
from securefair.ckks.backends.basis import Basis


def receive(
    first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis
) -> NDArray[Any] | None:
    """See `kernels.receive`; None if a residue is not below its prime."""
    received = residues_device.receive(first, seeds, basis, torch.device("cpu"))
    return None if received is None else received.numpy()


def __getattr__(name: str) -> Callable[..., Any]:
    """Any other kernel."""
    kernel = getattr(residues_device, name)

    def on_arrays(*arguments: Any) -> Any:
        result = kernel(*map(_shared, arguments))
        return result.numpy() if isinstance(result, torch.Tensor) else result

    return on_arrays


def _shared(argument: Any) -> Any:
    """Residues as tensors, also those in lists and tuples; weights and indices stay arrays."""
    if isinstance(argument, np.ndarray) and argument.dtype != np.int64:
        return torch.from_numpy(np.require(argument, requirements="W"))  # a copy of what is not
    if isinstance(argument, list | tuple):
        return [_shared(part) for part in argument]
    return argument
