"""`summed_fits`: numbers of a teacher's fit, which a student gets in a sum with others' only."""

from __future__ import annotations

from collections.abc import Callable

from securefair.releases.interface import Release


class SummedFits(Release):
    """What hospitals add up instead of answering about patients; no samples' logits are in it."""

    exchanged = False

    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """Part of a sentence."""
        return words("releases.summed_fits", q=q)

    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """As many as a fit has, whoever asks."""
        return rows


RELEASE = SummedFits()
