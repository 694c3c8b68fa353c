"""Hypothesis transfer: peers' mean logit as an offset of one's own fit, settings averaged.

A setting c is a share s_c of the peers' mean logit and a penalty lambda_c of the own correction to
it. "No peers", s = 0, stands among the settings with every penalty of the fits alone, so that a
hospital whose own patients speak against its peers ends where it would without them. Deployed is

    sum_c w_c (b_c + beta_c . x + s_c g(x)),        w_c proportional to exp(-S_c)

as one polynomial: the weights sum to 1, and sums of polynomials are polynomials. Where every
teacher's answer was opened by itself, the settings with a weight for each teacher take part in the
average: they cost next to nothing and are the only ones that help against inverted labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from securefair.model.outcomes import outcome_of
from securefair.model.transfer.alone import PENALTIES, OwnFit
from securefair.model.transfer.averaging import Validated, averaging_weights, validate
from securefair.model.transfer.polynomial import Degree, Polynomial, weighted_sum
from securefair.model.transfer.surrogate import explained, is_function, surrogate
from securefair.model.transfer.teacher_weights import teacher_weights

Array = NDArray[np.float64]

SHARES = (0.5, 1.0)
CORRECTION_PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 1e4)


@dataclass(frozen=True, kw_only=True)
class PeerWeight:
    """What a transfer says about the worth of the peers to this hospital.

    Attributes:
        in_peers: sum of the weights of settings with peers, in [0, 1]. Before a single patient is
            looked at it is 2/3 (4/5 with weights for each teacher): the share of such settings.
        gain: held-out loss of the own best fit minus that of the average, nats a patient;
            positive where peers help. The weights have seen the held-out patients, so it is a
            little optimistic.
        gain_se: its standard error over patients.
        explained: R^2 of g on held-out patients; None where no answer was used.
        left_out: teachers whose answers are no function of the features; `ALL` for their sum.
        weights: of each teacher, averaged over the settings of that family; empty where only the
            sum was opened.
    """

    in_peers: float
    gain: float
    gain_se: float
    explained: float | None = None
    left_out: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)


ALL = "all"


@dataclass(frozen=True, eq=False)
class Transferred:
    """What a transfer leaves.

    Attributes:
        model: to be deployed.
        offset: the surrogate of the peers' mean; None where not used.
        trust: what the peers were worth; stored and reported under this name.
        temperature: that the model's logits are to be divided by (`calibration`).
    """

    model: Polynomial
    offset: Polynomial | None
    trust: PeerWeight
    temperature: float


def transfer(own: OwnFit, peers: Array | None, degree: Degree = 1) -> Transferred:
    """Combine a hospital's own fits with the mean logit of its peers.

    Args:
        own: its own fits.
        peers: (n, L), the mean logit of its teachers on its own training patients, as exchanged;
            None where no teacher answered: the result is then the average of the own fits.
        degree: of the teachers.
    """
    if peers is None:
        return _alone(own)
    r2 = explained(own.samples.features, peers, degree, own.folds)
    if not is_function(own.samples.features, r2):
        return _alone(own, left_out=(ALL,))
    return _deployed(own, peers, degree, r2)


def transfer_each(own: OwnFit, answers: Mapping[str, Array], degree: Degree = 1) -> Transferred:
    """Combine a hospital's own fits with every teacher's logits.

    Args:
        own: its own fits.
        answers: (n, L) by teacher; those that are no function of the features are left out.
        degree: of the teachers.
    """
    r2 = {
        name: explained(own.samples.features, z, degree, own.folds) for name, z in answers.items()
    }
    kept = {name: z for name, z in answers.items() if is_function(own.samples.features, r2[name])}
    left_out = tuple(name for name in answers if name not in kept)
    if not kept:
        return _alone(own, left_out=left_out)
    mean = np.mean(list(kept.values()), axis=0)
    explained_mean = explained(own.samples.features, mean, degree, own.folds)
    return _deployed(own, mean, degree, explained_mean, kept, left_out)


def _alone(own: OwnFit, left_out: tuple[str, ...] = ()) -> Transferred:
    held_out = _held_out(own.validated, averaging_weights(own.validated.scores))
    gain, error = _gain(own, held_out)
    trust = PeerWeight(in_peers=0.0, gain=gain, gain_se=error, left_out=left_out)
    return Transferred(own.averaged, None, trust, _temperature(own, held_out))


def _deployed(
    own: OwnFit,
    peers: Array,
    degree: Degree,
    r2: float,
    each: Mapping[str, Array] | None = None,
    left_out: tuple[str, ...] = (),
) -> Transferred:
    samples, design = own.samples, own.design
    settings = [(s, penalty) for s in SHARES for penalty in CORRECTION_PENALTIES]
    with_peers = validate(
        design.columns(),
        samples,
        np.stack([s * peers for s, _ in settings]),
        np.stack([design.penalties(penalty) for _, penalty in settings]),
        own.folds,
    )
    families = [own.validated, with_peers]
    weighing = teacher_weights(own, each) if each else None
    if weighing is not None:
        families.append(weighing.slopes)
    every = _joined(families)
    weights = averaging_weights(every.scores)
    shares = np.array([0.0] * len(PENALTIES) + [s for s, _ in settings])
    offset = surrogate(samples.features, peers, degree)
    # The polynomial of a sum of coefficients is the sum of the polynomials.
    parts = [(1.0, design.polynomial(weights @ every.coefficients))]
    parts.append((float(weights[: len(shares)] @ shares), offset))
    if each and weighing is not None:
        of_teachers = weights[len(shares) :] @ weighing.by_setting
        parts += [
            (float(weight), surrogate(samples.features, z, degree))
            for weight, z in zip(of_teachers, each.values(), strict=True)
        ]
    held_out = _held_out(every, weights)
    gain, error = _gain(own, held_out)
    trust = PeerWeight(
        in_peers=float(weights[len(PENALTIES) :].sum()),
        gain=gain,
        gain_se=error,
        explained=r2,
        left_out=left_out,
        weights={} if weighing is None else weighing.weights,
    )
    model = weighted_sum([weight for weight, _ in parts], [part for _, part in parts])
    return Transferred(model, offset, trust, _temperature(own, held_out))


def _joined(families: list[Validated]) -> Validated:
    return Validated(
        np.concatenate([one.coefficients for one in families]),
        np.concatenate([one.held_out for one in families]),
        np.concatenate([one.losses for one in families]),
    )


def _held_out(every: Validated, weights: Array) -> Array:
    """(n, L): the average's predictors of each patient, by fits that did not see it."""
    result: Array = np.einsum("s,s...->...", weights, every.held_out)
    return result


def _temperature(own: OwnFit, held_out: Array) -> float:
    return outcome_of(own.samples).temperature(held_out, own.samples)


def _gain(own: OwnFit, held_out: Array) -> tuple[float, float]:
    """Held-out loss of the own best fit minus that of the average, and its standard error."""
    each = outcome_of(own.samples).held_out(held_out, own.samples, own.folds)
    gains = own.validated.losses[own.best] - each
    patients = len(own.samples)
    error = gains.std(ddof=1) * np.sqrt(len(gains)) / patients if len(gains) > 1 else 0.0
    return float(gains.sum() / patients), float(error)
