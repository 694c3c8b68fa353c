"""Who computes on residues: the native module where it is built, torch elsewhere."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from types import ModuleType

import torch

from securefair.ckks.backends import residues_torch
from securefair.errors import ConfigError

_log = logging.getLogger(__name__)


def _load_native() -> ModuleType | None:
    """The native implementation, or None with one message that says what is missing."""
    try:
        from securefair.ckks.backends import residues_native
    except ImportError as error:
        _log.warning(
            "native kernels are not available (%s): encrypted computations run on torch alone, "
            "which is many times slower; install a C++20 compiler and reinstall securefair",
            error,
        )
        return None
    residues_native.set_threads(torch.get_num_threads())  # which heeds OMP_NUM_THREADS
    return residues_native


_native = _load_native()


@dataclass(frozen=True)
class KernelInfo:
    """What computes on CPU tensors.

    Attributes:
        native: the native module is built and in use.
        instruction_set: "avx512", "avx2" or "scalar"; "torch" without the native module.
        threads: threads that a call may use.
    """

    native: bool
    instruction_set: str
    threads: int


def available() -> bool:
    """Whether the native kernels are built."""
    return _native is not None


def describe() -> KernelInfo:
    """Instruction set and threads in use."""
    if _native is None:
        return KernelInfo(False, "torch", torch.get_num_threads())
    return KernelInfo(True, _native.instruction_set(), _native.threads())


def set_threads(count: int) -> None:
    """Threads for native kernels and for torch together, so that they do not compete.

    Raises:
        ConfigError: count is below 1.
    """
    if count < 1:
        raise ConfigError("out of range", where="threads", found=count, expected="1 or more")
    torch.set_num_threads(count)
    if _native is not None:
        _native.set_threads(count)


def implementation(device: torch.device) -> ModuleType:
    """The module that computes on tensors of that device."""
    return _native if _native is not None and device.type == "cpu" else residues_torch
