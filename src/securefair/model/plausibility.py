"""Whether what was opened looks like logits at all: a test against the student's own prior.

A model's logits are a smooth function of the features. An answer that a teacher aims at one patient
is none: it is large there, and zero at everybody else. So explanations of the released numbers are
compared: the prior by which logits are reconstructed (`kernel`), logits that differ from patient
to patient without any reason, and numbers that no logits are behind, as coefficients of a key are.
Each may have any of SIZES; the likeliest is taken. The
result is the logarithm of the ratio of likelihoods, the mean over the classes. An answer is refused
where the prior's likelihood is below a 10,000th of the better other one: of draws from the prior at
most about two in 10,000 are, since likelihood ratios have mean 1 (Markov's inequality).

An aimed part beside a plausible whole hardly moves that ratio. So each patient is looked at by
itself: how much better is the whole explained if this one's logits may be anything? Under the prior
twice that is a chi-squared number with one degree of freedom for each class but one. The largest
over the patients is compared with a bound that draws from the prior exceed once in 1,000 answers;
trained models, which are smoother than the prior, stay far below it.

What it cannot see: an aimed part that is small beside the whole (`aimed` has figures).
`Clip` bounds what that may do. Few released numbers tell little. Of the demonstration's patients an
aimed part of size 10 is refused in no case with 8 numbers a class, in 1 % with 16, in 74 % with 24
and in nearly all from 32 on. Numbers that tell no logits, as of `loss`, are not tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from securefair.config import defaults
from securefair.data.dataset import Samples
from securefair.errors import ConfigError, ModelError
from securefair.model.kernel import EXACT_SAMPLES, SampleKernel

Array = NDArray[np.float64]

IMPLAUSIBLE = -math.log(1e4)
"""Log-ratios below are refused."""
APART = 1e-3
"""Of answers that are drawn from the prior, the share in which a patient looks aimed at."""
SIZES = tuple(2.0**k for k in range(-10, 11))
"""Of logits, that an answer may have."""
FINE_SIZES = 2.0 ** (np.arange(-40, 41) / 4)
"""The same in finer steps: a patient is judged by the size of all."""


class SmoothPrior:
    """The test, prepared for one student's samples and basis.

    Args:
        samples: the student's, flat features.
        rows: (q, B) weights of the samples in each released number; None: the logits themselves.
        noise_std: standard deviation of each released number's error, rounding included; rather
            too large than too small.
        kernel: the prior; `SampleKernel(samples)` by default.

    Raises:
        ModelError: more samples than `kernel.EXACT_SAMPLES` where logits themselves are released.
    """

    def __init__(
        self,
        samples: Samples,
        rows: Array | None,
        noise_std: float = 0.0,
        *,
        kernel: SampleKernel | None = None,
    ) -> None:
        if rows is None and len(samples) > EXACT_SAMPLES:
            raise ModelError(
                "so many logits are not tested", found=len(samples), expected=EXACT_SAMPLES
            )
        if kernel is None:
            kernel = SampleKernel(samples)
        if rows is None:
            u, s = np.eye(len(samples)), np.ones(len(samples))
            smooth = kernel.product(u)
        else:
            u, s, v = _decomposed(rows)
            smooth = s[:, None] * (v @ kernel.product(v.T)) * s
        values, vectors = np.linalg.eigh((smooth + smooth.T) / 2)
        noise = noise_std**2 + 1e-12 * float((s**2).mean())
        self._apart = _Apart(
            np.maximum(values, 0.0), vectors.T @ (s[:, None] * v if rows is not None else u), noise
        )
        self._ways = (
            _Way.of(vectors.T @ u.T, np.maximum(values, 0.0), noise),
            _Way.of(u.T, s**2, noise),
            _Way.of(u.T, np.full(len(u), float((s**2).mean())), noise),
        )

    def log_ratio(self, released: Array) -> float:
        """How much likelier the smooth explanation is, in nats, as the mean over the classes.

        Where one patient is explained so badly that it looks aimed at, it is below IMPLAUSIBLE.

        Args:
            released: (q, M).
        """
        smooth, *others = (way.likelihood(released) for way in self._ways)
        ratio = float((smooth - np.max(others, axis=0)).mean())
        room = self._apart.room(self._ways[0].combinations @ released)
        return ratio if room >= 0 else min(ratio, IMPLAUSIBLE + room)


def _decomposed(rows: Array) -> tuple[Array, Array, Array]:
    """Rows (q, B) = u (q, q) @ (s (q,) * v (q, B)); u is orthogonal.

    Numbers that no logits can change, beyond the rank of the rows, must be noise: their s are 0.
    """
    # Of v no more than q rows are needed: all B of them take seconds for thousands of samples.
    u, s, v = np.linalg.svd(rows, full_matrices=len(rows) > rows.shape[1])
    beyond = len(u) - len(s)
    return u, np.pad(s, (0, beyond)), np.pad(v, ((0, beyond), (0, 0)))


@dataclass(frozen=True)
class _Way:
    """One explanation of the numbers: they are normal, apart after a rotation, of one of SIZES.

    Attributes:
        combinations: (q, q) rotation of the numbers.
        precisions: (len(SIZES), q) inverse variances of the rotated numbers, noise included.
        determinants: (len(SIZES), 1) logarithms of the products of these variances.
    """

    combinations: Array
    precisions: Array
    determinants: Array

    @classmethod
    def of(cls, combinations: Array, variances: Array, noise: float) -> _Way:
        total = np.array(SIZES)[:, None] ** 2 * variances + noise
        return cls(combinations, 1 / total, np.log(total).sum(axis=1, keepdims=True))

    def likelihood(self, released: Array) -> Array:
        """(M,) log-densities at the likeliest size, up to the same constant for every way."""
        distances = self.precisions @ (self.combinations @ released) ** 2
        result: Array = -(self.determinants + distances).min(axis=0) / 2
        return result


class _Apart:
    """How badly single patients fit a smooth explanation of all.

    Args:
        values: (q,) variances of the rotated numbers, at size 1.
        patients: (q, B), what a logit of 1 at each patient adds to the rotated numbers.
        noise: variance of their errors.
    """

    def __init__(self, values: Array, patients: Array, noise: float) -> None:
        self._values, self._patients, self._noise = values, patients, noise

    def room(self, rotated: Array) -> float:
        """By how many nats the worst patient stays within the bound; below 0 beyond it.

        Args:
            rotated: (q, M) numbers.
        """
        classes = rotated.shape[1]
        free = max(1, classes - 1)  # what is the same in all classes changes no gradient
        apart = rotated - rotated.mean(axis=1, keepdims=True) if classes > 1 else rotated
        energy = (apart**2).sum(axis=1)
        total = FINE_SIZES[:, None] ** 2 * self._values + self._noise
        likelihood = -(free * np.log(total) + energy / total).sum(axis=1) / 2
        precisions = 1 / total[likelihood.argmax()]
        toward = self._patients.T @ (precisions[:, None] * apart)  # (B, M)
        reach = (self._patients**2).T @ precisions
        seen = reach > 0
        if not seen.any():
            return math.inf
        worst = float(((toward[seen] ** 2).sum(axis=1) / reach[seen]).max())
        return (_exceeded_by(APART / int(seen.sum()), free) - worst) / 2


def _exceeded_by(share: float, free: int) -> float:
    """What a chi-squared number exceeds with probability `share`, for so many degrees of freedom.

    Tails by Abramowitz and Stegun, 26.4.4 and 26.4.5. scipy has it, but takes a student a quarter
    of a second to load.
    """

    def tail(x: float) -> float:
        total, at = (math.erfc(math.sqrt(x / 2)), 1) if free % 2 else (math.exp(-x / 2), 2)
        while at < free:
            total += math.exp(at / 2 * math.log(x / 2) - x / 2 - math.lgamma(at / 2 + 1))
            at += 2
        return total

    low, high = 0.0, float(free)
    while tail(high) > share:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > share else (low, middle)
    return high


@dataclass(frozen=True, kw_only=True)
class Clip:
    """The most that an answer may say, whatever it opens to.

    Attributes:
        sample: largest distance of a logit from the mean of its sample's logits.
        answer: largest root mean square of those distances over all samples.

    Raises:
        ConfigError: one of them is not above 0.
    """

    sample: float = defaults.SAMPLE_CLIP
    answer: float = defaults.ANSWER_CLIP

    def __post_init__(self) -> None:
        for name, value in (("sample", self.sample), ("answer", self.answer)):
            if not value > 0:
                raise ConfigError("nothing would be left", where=name, found=value, expected="> 0")

    def applied(self, logits: Array) -> Array:
        """Logits (B, M) within the bounds; those that are within them are returned as they are.

        The mean of a sample's logits changes no gradient, and stays.
        """
        means = logits.mean(axis=1, keepdims=True)
        apart = logits - means
        largest = np.abs(apart).max(axis=1, keepdims=True)
        factors = self.sample / np.maximum(largest, self.sample)
        size = float(np.sqrt(((factors * apart) ** 2).mean()))
        factors = factors * (self.answer / max(size, self.answer))
        result: Array = np.where(factors == 1.0, logits, means + factors * apart)
        return result
