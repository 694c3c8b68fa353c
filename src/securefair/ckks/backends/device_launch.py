"""How tensors of torch meet the kernels of devices: launches, and messages that are sent there."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import warp as wp
from numpy.typing import NDArray

WORD_BYTES = 4


def launch(kernel: Any, size: tuple[int, ...], *arguments: Any, on: torch.device) -> None:
    """One kernel on all of `size`, after what torch was asked for before, and before what comes.

    Tensors of signed words become arrays of what the kernel takes, signed or not.
    """
    if not all(size):
        return
    stream = _stream_of(torch.cuda.current_stream(on)) if on.type == "cuda" else None
    device = None if stream else "cpu"
    # Only addresses: a whole array takes as long as the launch. `arguments` keeps the memory.
    inputs = [
        wp.from_torch(value, taken.type.dtype, return_ctype=True)
        if isinstance(value, torch.Tensor)
        else value
        for value, taken in zip(arguments, kernel.adj.args, strict=True)
    ]
    wp.launch(kernel, dim=size, inputs=inputs, device=device, stream=stream)


@lru_cache(maxsize=8)
def _stream_of(stream: torch.cuda.Stream) -> Any:
    """The same stream as the kernels know it."""
    return wp.stream_from_torch(stream)


def transferred(rows: NDArray[np.uint8], device: torch.device) -> torch.Tensor:
    """Rows (d, bytes) of a message as words (d, bytes / 4) on a device.

    What lies between the rows goes along: to take it out first would take longer than to send it.
    """
    stride, inside = rows.strides
    if len(rows) < 2 or inside != 1 or stride % WORD_BYTES:
        rows = np.ascontiguousarray(rows)
        stride = rows.shape[1]
    shape, size = (len(rows), rows.shape[1] // WORD_BYTES), stride * (len(rows) - 1)
    if not len(rows):
        return torch.empty(shape, dtype=torch.int32, device=device)
    # By its address: torch warns of arrays that are read only, as messages are.
    memory = (ctypes.c_uint8 * (size + rows.shape[1])).from_address(rows.ctypes.data)
    words = torch.frombuffer(memory, dtype=torch.uint8).to(device, copy=True).view(torch.int32)
    return words.as_strided(shape, (stride // WORD_BYTES, 1))
