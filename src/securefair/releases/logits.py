"""`logits`: every sample's, B M numbers, as a public prediction service would tell them."""

from __future__ import annotations

from collections.abc import Callable

from securefair.releases.interface import Asked, Release


class Logits(Release):
    """All that a teacher's model says of the samples."""

    fewest = 1
    whole = True

    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """Part of a sentence."""
        return words("releases.logits")

    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """One a sample and class."""
        return samples * classes

    def chosen(self, asked: Asked) -> int | None:
        """All."""
        return None


RELEASE = Logits()
