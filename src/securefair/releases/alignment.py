"""`alignment`: one number, the cosine of two gradients, of gossip; no samples' logits are in it."""

from __future__ import annotations

from collections.abc import Callable

from securefair.releases.interface import Release


class Alignment(Release):
    """An inner product with the asker's encrypted direction (`circuit.inner_product`)."""

    predictions = True
    exchanged = False

    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """Part of a sentence."""
        return words("releases.alignment")

    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """One."""
        return 1


RELEASE = Alignment()
