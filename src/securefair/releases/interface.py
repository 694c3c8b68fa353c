"""What a release is: which numbers leave, what the student sends for them, and what they tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol


class Asked(Protocol):
    """What a spec says of a release (`circuit.spec.ExchangeSpec`)."""

    @property
    def samples(self) -> int:
        """B, of the student."""

    @property
    def classes(self) -> int:
        """M."""

    @property
    def q(self) -> int:
        """Numbers a class, of releases that choose how many."""

    @property
    def basis(self) -> str:
        """Whose weights they are sums with."""


class Release(ABC):
    """One kind of answer: what of the logits, which are computed block by block, leaves.

    Attributes:
        predictions: the student encrypts something of its own for every answer.
        fewest: samples: a sum over one is that sample's own.
        rows: numbers are weighted sums of logits over the samples, which tell the logits.
        whole: every logit leaves, block by block; else blocks are added.
        exchanged: of samples' logits, and not of gradients.
    """

    predictions = False
    fewest = 2
    rows = False
    whole = False
    exchanged = True

    @property
    def trains(self) -> bool:
        """Whether a student can train on it: it tells logits."""
        return self.rows or self.whole

    @abstractmethod
    def told(self, q: int, basis: str, words: Callable[..., str]) -> str:
        """What a teacher lets out, as part of a sentence.

        Args:
            q, basis: of the settings.
            words: of the report's language, about its participants (`securefair.words.Words`).
        """

    def least(self, q: int) -> int:
        """Samples of a student, with fewer of which an answer would tell as much as all logits."""
        del q
        return self.fewest

    @abstractmethod
    def numbers(self, samples: int, classes: int, rows: int) -> int:
        """Numbers that an answer tells an honest student.

        Args:
            samples: B, of the student.
            classes: M.
            rows: q.
        """

    def check(self, asked: Asked) -> None:
        """Refuse what nobody should ask for.

        Raises:
            PlanError: names the field.
        """
        del asked

    def factors(self, asked: Asked) -> int:
        """Ciphertexts that the student encrypts, for logits to be multiplied with; 0 for none."""
        return asked.classes if self.predictions else 0

    def chosen(self, asked: Asked) -> int | None:
        """Coefficients of an answer's polynomials that leave; None for all."""
        del asked
        return 1

    def products(self, evaluator: Any, factors: Any, logits: Any, bound: float) -> Any:
        """Factors times logits, one ciphertext for each number; the mean over slots is released.

        Nothing is multiplied where there are no factors.

        Args:
            evaluator: any backend's (`ckks.evaluator.Evaluator`).
            factors, logits: tensors of one block, at the same limbs.
            bound: on a logit.
        """
        del evaluator, factors, bound
        return logits

    def added(self, asked: Asked) -> int:
        """Products that are added up in one number."""
        del asked
        return 1

    def shaped(self, asked: Asked, sums: Any) -> Any:
        """Opened numbers of such products, in order, in the shape that a student knows."""
        del asked
        return sums
