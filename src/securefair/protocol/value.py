"""Base of everything the protocol passes around: immutable, compared by content."""

from __future__ import annotations

import msgspec


class Value(msgspec.Struct, frozen=True):
    """A message, input, job, result or effect.

    Byte strings print as their length: a set of evaluation keys has tens of megabytes, and
    whatever is printed ends up in logs.
    """

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{field}={_abbreviated(getattr(self, field))}" for field in self.__struct_fields__
        )
        return f"{type(self).__name__}({fields})"


def _abbreviated(value: object) -> str:
    return f"<{len(value)} bytes>" if isinstance(value, bytes) else repr(value)
