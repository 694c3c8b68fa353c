"""What a private fit promises to every patient, as numbers and as a sentence.

    P[fit says S | with the patient] <= e^epsilon P[fit says S | without] + delta

for every set S of outcomes, and the other way round (Dwork and Roth 2014, Definition 2.4).
One of two neighbours has all rows of a patient, the other nothing in their place; the number of
patients is public and the same in both. Another patient's rows in their place are a patient less
and one more: at most 2 epsilon at (1 + e^epsilon) delta; only alignments promise epsilon itself
there, too. Whatever is computed from the fit and
from other people's data alone (answers to any number of students, encrypted or not, quantised or
not) keeps the promise: post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from securefair.config import defaults
from securefair.errors import ConfigError
from securefair.words import Words, words_of

Unit = Literal["patient"]
Mechanism = Literal["objective perturbation", "DP-SGD", "Gaussian"]

LARGEST_EPSILON = 64.0
"""e^64: nothing is promised any more."""
_MOST_EXPONENT = 700.0  # of float64


@dataclass(frozen=True, kw_only=True)
class PrivacyTarget:
    """What a hospital allows one private fit to cost.

    Everything here is public, and none of it may be chosen by looking at the patients.

    Attributes:
        epsilon: above 0, at most LARGEST_EPSILON.
        delta: in (0, 1); a fit refuses one above 1 / patients.
        unit: who is protected: a patient with all of its rows.
        rows_per_patient: most rows of one patient that a fit uses; the others are left out at
            random. More rows, more noise.
        row_norm: length to which longer feature vectors are shortened, as a multiple of sqrt(d).

    Raises:
        ConfigError: a value is out of its range.
    """

    epsilon: float
    delta: float
    unit: Unit = defaults.UNIT
    rows_per_patient: int = 1
    row_norm: float = 0.35

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            (
                "epsilon",
                0 < self.epsilon <= LARGEST_EPSILON,
                f"above 0, at most {LARGEST_EPSILON:g}",
            ),
            ("delta", 0 < self.delta < 1, "in (0, 1), and at most 1 / patients"),
            ("unit", self.unit == "patient", '"patient"'),
            ("rows_per_patient", self.rows_per_patient >= 1, "at least 1"),
            ("row_norm", 0 < self.row_norm < math.inf, "above 0"),
        ):
            if not accepted:
                raise ConfigError(
                    "no privacy target", where=name, found=getattr(self, name), expected=expected
                )

    def check(self, patients: int) -> None:
        """Refuse a delta that publishing one patient's record outright would satisfy.

        Raises:
            ConfigError: delta is above 1 / patients, or there are none.
        """
        if patients < 1 or self.delta > 1 / patients:
            raise ConfigError(
                "delta promises nothing to so few patients",
                where="privacy.delta",
                found=f"{self.delta:g} with {patients} patients",
                expected=f"at most {1 / max(patients, 1):.3g}, better a tenth of it",
                hint="Whoever publishes one random patient's record meets delta = 1 / patients",
            )


@dataclass(frozen=True, kw_only=True)
class PatientGuarantee:
    """What was delivered, once and for all answers that are computed from it.

    Attributes:
        mechanism: how.
        epsilon: at least 0.
        delta: in [0, 1).
        unit: who is protected.

    Raises:
        ConfigError: a value is out of its range.
    """

    mechanism: Mechanism
    epsilon: float
    delta: float
    unit: Unit = defaults.UNIT

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            ("epsilon", 0 <= self.epsilon <= LARGEST_EPSILON, f"0 to {LARGEST_EPSILON:g}"),
            ("delta", 0 <= self.delta < 1, "in [0, 1)"),
            ("unit", self.unit == "patient", '"patient"'),
        ):
            if not accepted:
                raise ConfigError(
                    "no guarantee", where=name, found=getattr(self, name), expected=expected
                )

    def within(self, epsilon: float, delta: float) -> bool:
        """Whether it promises at least as much as (epsilon, delta) does."""
        return self.epsilon <= epsilon and self.delta <= delta


def meaning_of(epsilon: float, delta: float, words: Words | None = None) -> str:
    """What all that a hospital's answers have cost its patients means, for people who decide.

    Args:
        epsilon: at least 0; of all mechanisms together, so that it may exceed LARGEST_EPSILON.
        delta: in [0, 1].
        words: of a language; None: English.
    """
    words = words or words_of()
    factor = math.exp(min(epsilon, _MOST_EXPONENT))
    found = 100 * largest_true_positive_rate(epsilon, delta, 0.01)
    return words(
        "promised.meaning",
        factor=words.figure(f"{factor:.3g}"),
        epsilon=words.figure(f"{epsilon:.3g}"),
        delta=words.figure(f"{delta:.1e}"),
        found=f"{found:.0f}",
    )


def largest_true_positive_rate(epsilon: float, delta: float, false_positive_rate: float) -> float:
    """The most that any attack can reach in telling whether a patient was there.

    Both directions of the definition bound it (Kairouz, Oh, Viswanath 2015, Theorem 2.1).

    Args:
        epsilon, delta: at least 0; of what was promised.
        false_positive_rate: of the attack, in [0, 1].
    """
    up = math.exp(min(epsilon, _MOST_EXPONENT)) * false_positive_rate + delta
    down = 1 - math.exp(-epsilon) * (1 - delta - false_positive_rate)
    return max(0.0, min(1.0, up, down))
