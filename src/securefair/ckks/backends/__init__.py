"""Ways to compute under encryption, by name; imported only when asked for."""

from __future__ import annotations

from importlib import import_module

from securefair.ckks.keys import Backend
from securefair.config.registers import BACKENDS
from securefair.errors import BackendUnavailableError

CLEAR = "clear"
"""The one backend that keeps nothing secret."""

__all__ = ["BACKENDS", "CLEAR", "encrypts", "get_backend"]


def encrypts(name: str) -> bool:
    """Whether that backend encrypts anything; one is for tests."""
    return name != CLEAR


def get_backend(name: str) -> Backend:
    """The backend of that name.

    Raises:
        BackendUnavailableError: there is none, or what it needs is not installed.
    """
    if name not in BACKENDS:
        raise BackendUnavailableError(
            "unknown backend", found=name, expected=", ".join(sorted(BACKENDS))
        )
    module, _, cls = BACKENDS[name].partition(":")
    try:
        backend: Backend = getattr(import_module(module), cls)()
    except ImportError as error:
        raise BackendUnavailableError(
            f"backend {name} cannot be imported", found=str(error), hint="Run: make setup"
        ) from error
    return backend
