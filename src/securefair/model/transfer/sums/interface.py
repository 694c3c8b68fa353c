"""What a sum of fits is: what a hospital adds to it, and what a student makes of it.

Everybody adds numbers of the fit on its own patients alone, so no value that was opened is in a
sum. A student's sum is over the others: it takes nothing of itself in. Hospitals add up

    beta_k    the fit, with its constant
    H_k       its curvature sum_i c_i p_i (1 - p_i) x_i x_i', the constant profiled out, with what
              hides whole numbers in it (`veil`); or of that only the diagonal
    h_k       H_k beta_k + lambda_k beta_k, its slope towards the patients of k alone: at the fit
              the gradient of the penalised loss is 0

so that sum_k H_k beta - h is, to second order, the gradient at any beta of everybody's loss: one
step of Newton's method (DANE: Shamir, Srebro and Zhang, ICML 2014) without asking at a beta that
was opened before. With three classes and more H_k is the mean of the logits' own curvatures.

and, since a few dozen patients hardly tell whether leaves of trees foretell better than a line,

    e_k       by how many nats they do for the patients of k (`evidence_of_leaves`), held to +-8

What is chance at one hospital is none at several: leaves, own ones as well, count at a student with
a handicap of 4 nats less half of what the others say together, between 0 and 8. Where what is
predicted has a deviation, they add

    v_k       the mean square by which the fit misses held-out patients of k, at most 4

for few patients of one's own hardly hold the rare ones who decide how sure a prediction is: the
deviation is the root of the mean over all hospitals, the student's own average among them.

A student uses the mean fit, in shares, as centre of its slopes, and H^-1 h as another, with
curvature tau H + lambda for precision: a Gaussian prior, tempered. How much of it, its own patients
say (`families`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.model.outcomes import outcome_of
from securefair.model.transfer.alone import OwnFit
from securefair.model.transfer.averaging import validate
from securefair.model.transfer.design import INTERCEPT_PENALTY, Design
from securefair.model.transfer.families import LEAVES_HANDICAP, Family, evidence_of_leaves
from securefair.model.transfer.polynomial import Polynomial
from securefair.model.transfer.sums.veil import veiled
from securefair.model.transfer.transferred import Transferred, corrected, deployed

Array = NDArray[np.float64]

MOST_SQUARES = 4.0
"""That a hospital may say: a deviation of the whole range, which is 2."""

SHARES, PRECISIONS = (
    (0.5, 1.0, 1.25),
    ((0.0, 1.0), (0.0, 10.0), (0.0, 1e4), (0.1, 3.0), (0.3, 1.0), (1.0, 3.0)),
)
"""Of settings around the mean fit: shares, and pairs of tau and lambda. Few: all settings share one
weight with families of trees."""

LIKELY_SHARES, LIKELY_PRECISIONS = (0.75, 1.0), ((0.3, 0.3), (0.3, 3.0), (0.3, 30.0))
"""Of settings around H^-1 h."""

MOST_EVIDENCE = 8.0
"""Nats that a hospital may say of leaves, either way. Only the sum is seen, so one that lies moves
it by n times that: it can take the whole handicap off, or make it the most."""

HANDICAP_AMONG, EVIDENCE_SHARE, MOST_HANDICAP = 4.0, 0.5, 8.0
"""Nats that leaves must be better by where nobody else found anything; the share of what the
others say that is taken off; and the most, so that own patients can still speak for leaves against
whatever is said."""


@dataclass(frozen=True, eq=False, repr=False)
class Summed:
    """Of one hospital's fit, or of several together.

    Attributes:
        mean: the fit; of several the mean of their fits.
        curvature: (d, d), H, or their sum.
        slope: (L, d), h, or their sum.
        evidence: e, or their sum; None where nobody says it.
        squares: v of each hospital, or their mean for each; none where nobody says it.
    """

    mean: Polynomial
    curvature: Array
    slope: Array
    evidence: float | None = None
    squares: tuple[float, ...] = ()

    @property
    def leaves_handicap(self) -> float:
        """Of a student that opened this, in nats."""
        if self.evidence is None:
            return LEAVES_HANDICAP
        return min(MOST_HANDICAP, max(0.0, HANDICAP_AMONG - EVIDENCE_SHARE * self.evidence))


class FitSum(ABC):
    """One way to say what a fit knows.

    Args:
        evidence: whether e is among it: projects of 0.2.0 go on without.
        squares: whether v is: `StudyOutcome.spreads`.

    Attributes:
        means: what is added up, for people, after "the sum of".
        rows: whether it holds products of different features, from which rows of patients follow
            where they are fewer than features.
        fewest: hospitals in a sum.
    """

    means: ClassVar[str]
    rows: ClassVar[bool]
    fewest: ClassVar[int] = 3

    def __init__(self, *, evidence: bool = True, squares: bool = False) -> None:
        self.evidence, self.squares = evidence, squares

    @abstractmethod
    def curvatures(self, features: int) -> int:
        """Numbers of a curvature."""

    @abstractmethod
    def written(self, curvature: Array) -> Array:
        """(d, d) -> the numbers of it that are added."""

    @abstractmethod
    def read(self, numbers: Array, features: int) -> Array:
        """The inverse; what was not added is 0."""

    def fewest_patients(self, features: int, hospitals: int) -> int:
        """Patients that a hospital must have to add its part to a sum of so many.

        A curvature over fewer patients than features tells their records. Where every hospital
        looks at its own, a sum holds twice as many.
        """
        return -(-2 * features // hospitals) if self.rows else 1

    def numbers(self, features: int, outputs: int) -> int:
        """That a hospital adds: fits, curvatures and slopes, and what it says of held-out ones."""
        of_fits = outputs * (1 + 2 * features) + self.curvatures(features)
        return of_fits + self.squares + self.evidence

    def told(self, own: OwnFit) -> Array:
        """What a hospital adds, (numbers,): of features that everybody has."""
        own = own.told
        one = known(own)
        curvature = self.written(veiled(one.curvature, own.samples))
        slope = own.penalty * one.mean.linear
        slope += one.mean.linear @ self.read(curvature, len(one.curvature))
        said = evidence_of_leaves(own.families)
        evidence = [np.clip(said, -MOST_EVIDENCE, MOST_EVIDENCE)] if self.evidence else []
        squares = np.minimum(one.squares, MOST_SQUARES) if self.squares else []
        return np.concatenate(
            [
                one.mean.constant,
                one.mean.linear.ravel(),
                slope.ravel(),
                curvature,
                squares,
                evidence,
            ]
        )

    def opened(self, mean: Array, hospitals: int, features: int) -> Summed:
        """What a student opened: the mean of what so many hospitals added."""
        curvatures = self.curvatures(features)
        outputs = (len(mean) - curvatures) // (1 + 2 * features)
        split = np.cumsum(
            [outputs, outputs * features, outputs * features, curvatures, self.squares]
        )
        constant, linear, slope, curvature, squares, said = np.split(mean, split)
        most = hospitals * MOST_EVIDENCE  # whoever says more did not do as agreed
        return Summed(
            Polynomial(constant, linear.reshape(outputs, features)),
            hospitals * self.read(curvature, features),
            hospitals * slope.reshape(outputs, features),
            float(np.clip(hospitals * said[0], -most, most)) if self.evidence else None,
            tuple(np.clip(squares, 0.0, MOST_SQUARES).tolist()) * hospitals,
        )


def known(own: OwnFit) -> Summed:
    """What a hospital's own fit knows; its slope is left 0, for it depends on what is written."""
    samples, model, outcome = own.samples, own.model, outcome_of(own.samples)
    x = samples.features
    columns = np.column_stack([x, np.ones(len(x))])
    found = outcome.curvatures(columns, model.logits(x), samples)
    beside, constant = found[-1, :-1], found[-1, -1] + INTERCEPT_PENALTY
    curvature = found[:-1, :-1] - np.outer(beside, beside) / constant
    squares = outcome.squares(own.validated.held_out[own.best], samples)
    return Summed(
        model,
        curvature,
        np.zeros_like(model.linear),
        squares=() if squares is None else (squares,),
    )


def transfer_sum(own: OwnFit, summed: Summed) -> Transferred:
    """Combine a hospital's own fits with what its peers' fits know together."""

    def again(other: OwnFit) -> Transferred:
        return transfer_sum(other, summed)

    found = families(own, summed)
    return deployed(
        own,
        found,
        again=again,
        leaves_handicap=summed.leaves_handicap,
        squares=summed.squares,
    )


def families(own: OwnFit, summed: Summed) -> list[Family]:
    """The settings around the peers' mean fit and around the most likely one; leaves of trees
    correct the mean fit, as it is no fit of theirs. Of features that others have not, sums say
    nothing: a centre of 0, and no curvature.
    """
    further = own.samples.further
    values, vectors = np.linalg.eigh(np.pad(summed.curvature, (0, further)))
    values = np.maximum(values, 0.0)  # rounding
    x, outputs = own.samples.features, own.design.outputs
    mean = summed.mean.widened(further)
    design = Design(x @ vectors, vectors, x.shape[1], outputs, None)
    turned = np.pad(summed.slope, ((0, 0), (0, further))) @ vectors

    def most_likely(penalty: float) -> Polynomial:
        return Polynomial(np.zeros(outputs), turned / (values + penalty) @ vectors.T)

    likely = {penalty: most_likely(penalty) for _, penalty in LIKELY_PRECISIONS}
    around_mean = [
        (share, mean, temper * values + penalty)
        for share, (temper, penalty) in product(SHARES, PRECISIONS)
    ]
    around_likely = [
        (share, likely[penalty], temper * values + penalty)
        for share, (temper, penalty) in product(LIKELY_SHARES, LIKELY_PRECISIONS)
    ]
    said = mean.logits(x)
    return [
        *(_around(own, design, settings) for settings in (around_mean, around_likely)),
        *(
            corrected(own, one.design, said, mean)
            for one in own.families
            if one.design.trees is not None
        ),
    ]


def _around(own: OwnFit, design: Design, settings: list[tuple[float, Polynomial, Array]]) -> Family:
    """Fits whose slopes have a centre, in a share, and a precision for each direction."""
    samples = own.samples
    validated = validate(
        design.columns(),
        samples,
        np.stack([share * centre.logits(samples.features) for share, centre, _ in settings]),
        np.stack(
            [
                np.tile(np.append(precision, INTERCEPT_PENALTY), design.outputs)
                for _, _, precision in settings
            ]
        ),
        own.folds,
    )
    shares = np.array([share for share, *_ in settings])
    centres = list(dict.fromkeys(centre for _, centre, _ in settings))
    return Family(
        design,
        validated,
        [
            (shares * np.array([one is centre for _, one, _ in settings]), centre)
            for centre in centres
        ],
    )
