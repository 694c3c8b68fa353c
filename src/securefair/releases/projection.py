"""`projection`: q weighted sums over all samples of the logits of each class.

With the `public` basis they are coefficients of the message polynomial, which need no product
(`model.projection`); with the `student` basis products with rows that the student encrypts once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from securefair.errors import PlanError
from securefair.releases.interface import Asked, Release

BASES = ("public", "student")


class Projection(Release):
    """Sums with known weights, from which a student reconstructs logits."""

    rows = True

    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """Part of a sentence."""
        chosen = "public" if basis == BASES[0] else "own"
        return words(f"releases.projection_{chosen}", q=q)

    def least(self, q: int) -> int:
        """More than sums."""
        return q + 1

    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """q a class."""
        return rows * classes

    def check(self, asked: Asked) -> None:
        """As many sums as samples disclose as much as logits."""
        if asked.basis not in BASES:
            raise PlanError(
                "unknown choice", where="basis", found=asked.basis, expected=", ".join(BASES)
            )
        if asked.q >= asked.samples:
            raise PlanError(
                "so many numbers per class disclose as much as the logits themselves",
                where="q",
                found=asked.q,
                expected=f"fewer than the student's {asked.samples} samples",
                hint=f"Choose q = {max(1, asked.samples // 2)} or less, or release 'logits' "
                "knowingly",
            )

    def factors(self, asked: Asked) -> int:
        """The rows of a student's basis."""
        return asked.q if asked.basis == "student" else 0

    def chosen(self, asked: Asked) -> int | None:
        """q of a public basis; with a student's the mean of each product."""
        return 1 if self.factors(asked) else asked.q

    def products(self, evaluator: Any, factors: Any, logits: Any, bound: float) -> Any:
        """Every row times every class."""
        return evaluator.outer(factors, logits)

    def shaped(self, asked: Asked, sums: Any) -> Any:
        """(q, M)."""
        return sums.reshape(asked.q, asked.classes)


RELEASE = Projection()
