"""Who hears of a collaboration: anything with `on_round`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from securefair.collaboration.kept import KeptModel
from securefair.records import RoundRecord


class Callback(Protocol):
    """Hears of every round, in order, from the thread that runs them.

    What it raises ends the run and reaches the caller of `collaborate`. One that has a method
    `on_models` as well is given what every hospital keeps (`KeptModel`s) at the end.
    """

    def on_round(self, record: RoundRecord) -> None:
        """A round is over."""


def tell_models(callbacks: Sequence[Callback], kept: Sequence[KeptModel]) -> None:
    """Give what every hospital keeps to those who want to hear of it."""
    for one in callbacks:
        hear = getattr(one, "on_models", None)
        if callable(hear):
            hear(kept)
