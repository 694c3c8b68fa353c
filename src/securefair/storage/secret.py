"""Bytes that must not be printed, compared carelessly or copied without a reason."""

from __future__ import annotations

import hmac
import os
import resource
from typing import NoReturn


def no_core_file() -> None:
    """Write no core file of this process from now on: its secrets would lie in it."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


class Secret:
    """Secret bytes: prints as redacted, cannot be pickled, and is overwritten when it is dropped.

    Overwriting is best effort: Python and the libraries that use the bytes may have copied them,
    and the operating system may have written a page to disk. `reveal` makes such a copy; call it
    where the bytes are used and keep none.

    Args:
        value: the bytes; they are copied, and a bytearray is overwritten with zeros afterwards.
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes | bytearray) -> None:
        self._value = bytearray(value)
        if isinstance(value, bytearray):
            value[:] = bytes(len(value))

    @classmethod
    def random(cls, size: int = 32) -> Secret:
        """Fresh bytes from the operating system."""
        return cls(os.urandom(size))

    def reveal(self) -> bytes:
        """A copy of the bytes, for the one call that needs them."""
        return bytes(self._value)

    def clear(self) -> None:
        """Overwrite the bytes with zeros, and forget them."""
        self._value[:] = bytes(len(self._value))
        self._value.clear()

    def __eq__(self, other: object) -> bool:
        """Whether two secrets are equal, in time that does not depend on where they differ."""
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value, other._value)

    def __bool__(self) -> bool:
        """Whether it holds anything."""
        return bool(self._value)

    def __repr__(self) -> str:
        """Never the bytes, nor how many."""
        return "Secret(redacted)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse every way of copying that goes through pickle.

        Raises:
            TypeError: always.
        """
        raise TypeError("a secret cannot be pickled or copied")

    def __del__(self) -> None:
        if hasattr(self, "_value"):
            self.clear()
