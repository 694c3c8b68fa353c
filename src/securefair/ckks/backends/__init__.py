"""Ways to compute under encryption, by name; imported only when asked for."""

from __future__ import annotations

from securefair.ckks.keys import Backend
from securefair.config import defaults
from securefair.config.registers import BACKENDS, looked_up
from securefair.errors import BackendUnavailableError, ConfigError

CLEAR = "clear"
"""The one backend that keeps nothing secret."""

__all__ = ["BACKENDS", "CLEAR", "encrypts", "get_backend"]


def encrypts(name: str) -> bool:
    """Whether that backend encrypts anything; one is for tests."""
    return name != CLEAR


def get_backend(name: str, device: str = defaults.PROCESSOR) -> Backend:
    """The backend of that name, whose teacher's side computes on that device.

    Args:
        name: of a line in the register.
        device: "cpu"; where the backend has kernels for cards also "cuda", "cuda:1", or
            "cpu-kernels", which runs those kernels on the processor.

    Raises:
        BackendUnavailableError: there is no such backend or card, or what it needs is missing.
        ConfigError: no such device, or the backend knows this processor only.
    """
    if not isinstance(device, str):
        raise ConfigError(
            "a device is named by a text",
            where="device",
            found=type(device).__name__,
            expected=f"such as {defaults.PROCESSOR!r} or 'cuda'",
            hint=f"Write device={str(device)!r}",
        )
    if not isinstance(name, str):
        raise BackendUnavailableError(
            "a backend is named by a text",
            where="backend",
            found=type(name).__name__,
            expected=", ".join(BACKENDS),
        )
    try:
        kind: type[Backend] = looked_up(
            BACKENDS, name, problem="unknown backend", error=BackendUnavailableError
        )
        backend = kind() if device == defaults.PROCESSOR else kind.on_device(device)
    except ImportError as error:
        raise BackendUnavailableError(
            f"backend {name} cannot be imported", found=str(error), hint="Run: make setup"
        ) from error
    return backend
