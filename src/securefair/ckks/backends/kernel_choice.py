"""Who computes on residues: the native module where it is built, the devices' kernels elsewhere."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from securefair.ckks.backends.residues import Device
from securefair.errors import ConfigError

_log = logging.getLogger(__name__)


def _load_native() -> ModuleType | None:
    """The native implementation, or None with one message that says what is missing."""
    try:
        from securefair.ckks.backends import residues_native
    except ImportError as error:
        _log.warning(
            "native kernels are not available (%s): those for devices compute instead, many times "
            "slower; install a C++20 compiler and reinstall securefair",
            error,
        )
        return None
    residues_native.set_threads(_first_threads())
    return residues_native


def loaded_torch() -> ModuleType | None:
    """torch, if something imported it already: only then has it threads of its own."""
    return sys.modules.get("torch")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _first_threads() -> int:
    """What torch was set to, or would start with: OMP_NUM_THREADS, else one a core."""
    torch = loaded_torch()
    if torch is not None:
        return int(torch.get_num_threads())
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(wanted) if wanted.isdecimal() and int(wanted) else cores()


_native = _load_native()


@dataclass(frozen=True)
class KernelInfo:
    """What computes on numpy arrays.

    Attributes:
        native: the native module is built and in use.
        instruction_set: "amx", "avx512", "avx2" or "scalar"; "device" without the native module.
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
        return KernelInfo(False, "device", 1)
    return KernelInfo(True, _native.instruction_set(), _native.threads())


def set_threads(count: int) -> None:
    """Threads for native kernels and for torch together, so that they do not compete.

    Raises:
        ConfigError: count is below 1.
    """
    if count < 1:
        raise ConfigError("out of range", where="threads", found=count, expected="1 or more")
    torch = loaded_torch() if _native is not None else import_module("torch")
    if torch is not None:
        torch.set_num_threads(count)
    if _native is not None:
        _native.set_threads(count)


def implementation(device: Device) -> ModuleType:
    """The module that computes there: numpy's for None, else one source for all devices."""
    if device is None and _native is not None:
        return _native
    name = "residues_device" if device is not None else "residues_fallback"
    return import_module(f"securefair.ckks.backends.{name}")
