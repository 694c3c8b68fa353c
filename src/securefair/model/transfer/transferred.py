"""Hypothesis transfer: peers' mean logit as an offset of one's own fit, settings averaged.

A setting c is a share s_c of the peers' mean logit and a penalty lambda_c of the own correction to
it. "No peers", s = 0, stands among the settings with every penalty of the fits alone, so that a
hospital whose own patients speak against its peers ends where it would without them. Deployed is
the average of all settings (`families`). Where every teacher's answer was opened by itself, the
settings with a weight for each teacher take part: they cost next to nothing and are the only ones
that help against inverted labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from securefair.model.outcomes import outcome_of
from securefair.model.transfer.alone import OwnFit
from securefair.model.transfer.averaging import validate
from securefair.model.transfer.design import Design
from securefair.model.transfer.families import LEAVES_HANDICAP, Family, average
from securefair.model.transfer.leafed import Fitted, spreading
from securefair.model.transfer.polynomial import Degree
from securefair.model.transfer.surrogate import explained, is_function, offset_of
from securefair.model.transfer.teacher_weights import teacher_weights

Array = NDArray[np.float64]

SHARES = (0.25, 0.5, 0.75, 1.0, 1.25)
CORRECTION_PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 1e4)
TREE_SHARES, TREE_CORRECTIONS = (0.5, 1.0, 1.25), (1.0, 10.0, 100.0)
"""Fewer for leaves of trees, as `alone.TREE_PENALTIES`."""


@dataclass(frozen=True, kw_only=True)
class PeerWeight:
    """What a transfer says about the worth of the peers to this hospital.

    Attributes:
        in_peers: sum of the weights of settings with peers, in [0, 1]. Before a single patient is
            looked at it is 4/5 (5/6 with weights for each teacher, or without families of trees;
            7/8 with the first and without the others): the share of such settings.
        gain: held-out loss of the own best fit minus that of the average, nats a patient;
            positive where peers help. The weights have seen the held-out patients, so it is a
            little optimistic.
        gain_se: its standard error over patients.
        explained: R^2 of g on held-out patients; None where no answer was used.
        left_out: teachers whose answers are no function of the features; `ALL` for their sum.
        weights: of each teacher, averaged over the settings of that family; empty where only the
            sum was opened.
        families: sum of the weights of each family of own fits (linear, trees, both; quadratic).
    """

    in_peers: float
    gain: float
    gain_se: float
    explained: float | None = None
    left_out: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    families: Mapping[str, float] = field(default_factory=dict)


ALL = "all"


@dataclass(frozen=True, eq=False)
class Transferred:
    """What a transfer leaves.

    Attributes:
        model: to be deployed.
        trust: what the peers were worth; stored and reported under this name.
        temperature: that the model's logits are to be divided by (`calibration`).
        again: the same for other own fits, with what peers said before.
        families: all that were averaged; none of what was read from a store.
    """

    model: Fitted
    trust: PeerWeight
    temperature: float
    again: Callable[[OwnFit], Transferred]
    families: Sequence[Family] = ()


def transfer(
    own: OwnFit, peers: Array | None, degree: Degree = 1, *, leaves: bool = False
) -> Transferred:
    """Combine a hospital's own fits with the mean logit of its peers.

    Args:
        own: its own fits.
        peers: (n, L), the mean logit of its teachers on its own training patients, as exchanged;
            None where no teacher answered: the result is then the average of the own fits.
        degree: of the teachers.
        leaves: whether they answer from leaves of the public trees as well.
    """
    if peers is None:
        return without_peers(own)
    x = own.samples.common.features
    r2 = explained(x, peers, degree, own.folds, leaves=leaves)
    if not is_function(x, r2):
        return deployed(own, [], again=without_peers, left_out=(ALL,))
    families, again = _mean_logit(own, peers, degree, leaves=leaves)
    return deployed(own, families, again=again, r2=r2)


def transfer_each(
    own: OwnFit, answers: Mapping[str, Array], degree: Degree = 1, *, leaves: bool = False
) -> Transferred:
    """Combine a hospital's own fits with every teacher's logits.

    Args:
        own: its own fits.
        answers: (n, L) by teacher; those that are no function of the features are left out.
        degree: of the teachers.
        leaves: see `transfer`.
    """
    x = own.samples.common.features
    r2 = {name: explained(x, z, degree, own.folds, leaves=leaves) for name, z in answers.items()}
    kept = {name: z for name, z in answers.items() if is_function(x, r2[name])}
    left_out = tuple(name for name in answers if name not in kept)
    if not kept:
        return deployed(own, [], again=without_peers, left_out=left_out)
    return _each(own, kept, degree, leaves=leaves, left_out=left_out)


def _each(
    own: OwnFit,
    answers: Mapping[str, Array],
    degree: Degree,
    *,
    leaves: bool,
    left_out: tuple[str, ...],
) -> Transferred:
    """See `transfer_each`; these answers are functions of the features."""
    samples = own.samples
    mean = np.mean(list(answers.values()), axis=0)
    families, _ = _mean_logit(own, mean, degree, leaves=leaves)
    weighing = teacher_weights(own, answers, degree, leaves=leaves)

    def again(other: OwnFit) -> Transferred:
        said = {
            name: offset_of(samples, z, degree, leaves=leaves).logits(other.samples.features)
            for name, z in answers.items()
        }
        return _each(other, said, degree, leaves=leaves, left_out=left_out)

    return deployed(
        own,
        [*families, weighing.family],
        again=again,
        r2=explained(samples.common.features, mean, degree, own.folds, leaves=leaves),
        left_out=left_out,
        weights=weighing.weights,
    )


def deployed(
    own: OwnFit,
    families: Sequence[Family],
    *,
    again: Callable[[OwnFit], Transferred],
    r2: float | None = None,
    left_out: tuple[str, ...] = (),
    weights: Mapping[str, float] | None = None,
    leaves_handicap: float = LEAVES_HANDICAP,
    squares: Sequence[float] = (),
) -> Transferred:
    """The average of a hospital's fits alone and of families with peers.

    Args:
        own: its own fits.
        families: with peers, of the same patients and folds; none: the own fits' average.
        again: see `Transferred`.
        r2, left_out, weights: see `PeerWeight`.
        leaves_handicap: of all families of leaves, see `Family`.
        squares: what others said of theirs, see `spreading`.
    """
    every = [replace(one, leaves_handicap=leaves_handicap) for one in (*own.families, *families)]
    averaged = average(every)
    gain, error = _gain(own, averaged.held_out)
    trust = PeerWeight(
        in_peers=averaged.in_peers,
        gain=gain,
        gain_se=error,
        explained=r2,
        left_out=left_out,
        weights=weights or {},
        families=averaged.by_design,
    )
    outcome, samples = outcome_of(own.samples), own.samples
    divisor = outcome.temperature(averaged.held_out, samples)
    model = spreading(averaged.model, outcome.squares(averaged.held_out, samples), squares)
    return Transferred(model, trust, divisor, again, every)


def without_peers(own: OwnFit) -> Transferred:
    """The average of a hospital's own fits, as `transfer` gives where no teacher answered."""
    return deployed(own, [], again=without_peers)


def _mean_logit(
    own: OwnFit, peers: Array, degree: Degree, *, leaves: bool
) -> tuple[list[Family], Callable[[OwnFit], Transferred]]:
    """The settings with the peers' mean logit, and what it says of other patients."""
    offset = offset_of(own.samples, peers, degree, leaves=leaves)

    def again(other: OwnFit) -> Transferred:
        # a function of the features, whatever patients these are
        said = offset.logits(other.samples.features)
        found, later = _mean_logit(other, said, degree, leaves=leaves)
        r2 = explained(other.samples.common.features, said, degree, other.folds, leaves=leaves)
        return deployed(other, found, again=later, r2=r2)

    return [corrected(own, one.design, peers, offset) for one in own.families], again


def corrected(own: OwnFit, design: Design, peers: Array, offset: Fitted) -> Family:
    """Own corrections of one design to shares of the peers' mean logit."""
    settings = [
        (share, penalty)
        for share in (SHARES if design.trees is None else TREE_SHARES)
        for penalty in (CORRECTION_PENALTIES if design.trees is None else TREE_CORRECTIONS)
    ]
    validated = validate(
        design.columns(),
        own.samples,
        np.stack([s * peers for s, _ in settings]),
        np.stack([design.penalties(penalty) for _, penalty in settings]),
        own.folds,
    )
    return Family(design, validated, [(np.array([s for s, _ in settings]), offset)])


def _gain(own: OwnFit, held_out: Array) -> tuple[float, float]:
    """Held-out loss of the own best fit minus that of the average, and its standard error."""
    each = outcome_of(own.samples).held_out(held_out, own.samples, own.folds)
    gains = own.validated.losses[own.best] - each
    patients = len(own.samples)
    error = gains.std(ddof=1) * np.sqrt(len(gains)) / patients if len(gains) > 1 else 0.0
    return float(gains.sum() / patients), float(error)
