"""`loss`: one number, sum_j p_j . z_j, CaPriDe's Eq. (3); it trains nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from securefair.releases.interface import Asked, Release


class Loss(Release):
    """The student's predictions times the teacher's logits, summed over classes and samples."""

    predictions = True

    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """Part of a sentence."""
        return words("releases.loss")

    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """One."""
        return 1

    def products(self, evaluator: Any, factors: Any, logits: Any, bound: float) -> Any:
        """Inner products: predictions sum to 1, so they are bounded as a logit is."""
        return evaluator.inner(factors, logits, bound=bound)

    def added(self, asked: Asked) -> int:
        """One for each class."""
        return asked.classes

    def shaped(self, asked: Asked, sums: Any) -> Any:
        """A scalar."""
        return sums.reshape(())


RELEASE = Loss()
