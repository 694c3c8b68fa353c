"""`class_sums`: M numbers, v_c = sum_j p_jc z_jc, the loss class by class; it trains nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from securefair.releases.interface import Release


class ClassSums(Release):
    """The student's predictions times the teacher's logits, summed over samples."""

    predictions = True

    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """Part of a sentence."""
        return words("releases.class_sums")

    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """One a class."""
        return classes

    def products(self, evaluator: Any, factors: Any, logits: Any, bound: float) -> Any:
        """Class by class."""
        return evaluator.multiply(factors, logits)


RELEASE = ClassSums()
