"""What participants of every kind agree on before a byte of data is sent."""

from __future__ import annotations

from typing import Protocol

from securefair.protocol.codec import Limits


class Agreement(Protocol):
    """Public constants of a collaboration; everyone finds the same ones."""

    @property
    def participants(self) -> tuple[str, ...]:
        """Names, in the order of every record."""
        ...

    def met_by(self, name: str) -> tuple[str, ...]:
        """Peers whom a participant greets, waits for and exchanges with; they meet it, too."""
        ...

    @property
    def digest(self) -> bytes:
        """32 bytes over every constant, compared in the first message."""
        ...

    @property
    def limits(self) -> Limits:
        """Most bytes of every field of every message."""
        ...

    @property
    def plan_digest(self) -> bytes:
        """32 bytes over what this installation plans from the constants."""
        ...

    @property
    def numbers_a_round(self) -> int:
        """Most numbers that a student gets of one teacher in one round."""
        ...

    @property
    def summary(self) -> str:
        """What it means, in a line for people: parameters, numbers, bytes."""
        ...
