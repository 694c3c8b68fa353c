"""`counts`: how many patients are in each cell, which a hospital gets in a sum of others' only."""

from __future__ import annotations

from collections.abc import Callable

from securefair.releases.interface import Release


class Counts(Release):
    """What hospitals add up to describe their patients; no model is in it."""

    exchanged = False

    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """Part of a sentence."""
        return words("releases.counts", q=q)

    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """As many as there are cells and sums, whoever asks."""
        return rows


RELEASE = Counts()
