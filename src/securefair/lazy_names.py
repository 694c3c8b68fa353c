"""Public names that are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def on_first_use(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that loads its names on first use (PEP 562).

    Args:
        package: its `__name__`.
        homes: of each name, the module below the package that defines it.
    """

    def load(name: str) -> object:
        """The name, imported from its home."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    def listed() -> list[str]:
        """All names, loaded or not."""
        return sorted({*vars(sys.modules[package]), *homes})

    return load, listed
