"""Private softmax regression: objective perturbation, released by approximate minima perturbation.

The theory of `objective` needs the exact minimum; a computer finds another point nearby. So the
point is certified by the length of its gradient and released with a little more noise, which
covers the distance (Iyengar, Near, Song, Thakkar, Thakurta, Wang 2019, Algorithm 1). A gradient of
length gamma is at most gamma / lambda away from the minimum; two runs differ in that by twice as
much. The second noise takes a hundredth of epsilon and of delta, and the certificate leaves half
of gamma for rounding, of the noise, of the gradient and of what OpenDP returns as floats.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from securefair.data.dataset import Samples
from securefair.errors import ModelError
from securefair.privacy.accounting import noise_multiplier
from securefair.privacy.guarantees import PatientGuarantee, PrivacyTarget
from securefair.privacy.objective import ObjectiveNoise, objective_noise, steepest_slope
from securefair.privacy.patients import Patients, shortened
from securefair.privacy.randomness import NoiseSource

Array = NDArray[np.float64]

RELEASE_SHARE = 0.01
"""Of epsilon and delta, for the distance between the computed point and the minimum."""
CERTIFICATE = 1e-7
"""gamma over lambda."""
INTERCEPT = 0.5
"""The constant feature. Smaller: less noise for all coefficients, and a stronger penalty of the
intercept. Chosen on census data, as `objective.CURVATURE_SHARE` and `PrivacyTarget.row_norm`."""
MAX_STEPS = 2000
_HALVINGS = 12


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivateFit:
    """Logits constant + linear x, and what their publication costs the patients.

    The penalised fits of `model` have the same form: L = 1 logit, of class 1 against class 0,
    where there are two classes, and one for each class where there are more.

    Attributes:
        constant: (L,).
        linear: (L, d), of features that nobody needs to shorten.
        guarantee: of everything that is computed from it.
        noise: the public constants of the fit.
    """

    constant: Array
    linear: Array
    guarantee: PatientGuarantee
    noise: ObjectiveNoise


def private_fit(
    samples: Samples, patients: Patients, target: PrivacyTarget, noise: NoiseSource
) -> PrivateFit:
    """Softmax regression on a hospital's own patients, private for each of them.

    Formal guarantees:
        (epsilon, delta)-differential privacy of the result, with or without all rows of one
        patient; with noise from `SystemNoise` only. The fit does not use their number, and the
        order of rows does not matter. The features' scaling must come from public constants.
        Nobody may learn how long the fit took, or see it fail.

    Edge cases:
        no patients: the result is noise. One class only: as any other labels.
        Rows longer than `row_norm` sqrt(d): shortened, in the fit only.
        A patient with more rows than `rows_per_patient`: some of them, at random.

    Args:
        samples: (n, d) flat features, scaled by public constants; M classes, public.
        patients: of those n rows.
        target: what it may cost.
        noise: where the noise comes from.

    Raises:
        ConfigError: delta is above 1 / patients, or no noise reaches the target.
        DataError: a feature is NaN or infinite.
        ModelError: features are no vectors, or the minimum was not found.
    """
    if samples.features.ndim != 2 or len(patients.of_row) != len(samples):
        raise ModelError(
            "private fits need one vector a row, and a patient for each",
            found=f"{samples.features.shape} and {len(patients.of_row)}",
            expected="(n, d) and n",
        )
    target.check(patients.count)
    rows = patients.limited(target.rows_per_patient, noise)
    kept, owners = samples.take(rows), patients.take(rows)
    features, classes = samples.features.shape[1], samples.classes
    clip = target.row_norm * np.sqrt(features)
    plan = planned_noise(target, features, classes)
    design = np.column_stack([shortened(kept.features, clip), np.full(len(kept), INTERCEPT)])
    shape = (classes, features + 1)
    linear_term = _centred(noise.gaussian(classes * (features + 1), plan.scale).reshape(shape))
    minimum = _minimum(design, kept.labels, owners.weights(), linear_term, plan.penalty)
    released = _centred(noise.gaussian_around(minimum, _release_scale(target)))
    logits = released[1:] - released[:1] if classes == 2 else released
    return PrivateFit(
        constant=INTERCEPT * logits[:, -1],
        linear=logits[:, :-1].copy(),
        guarantee=PatientGuarantee(
            mechanism="objective perturbation",
            epsilon=target.epsilon,
            delta=target.delta,
            unit=target.unit,
        ),
        noise=plan,
    )


def planned_noise(target: PrivacyTarget, features: int, classes: int) -> ObjectiveNoise:
    """The public constants of a fit of that size.

    Raises:
        ConfigError: no noise reaches the target.
    """
    return objective_noise(
        (1 - RELEASE_SHARE) * target.epsilon,
        (1 - RELEASE_SHARE) * target.delta,
        row_norm=float(np.sqrt(target.row_norm**2 * features + INTERCEPT**2)),
        classes=classes,
        rows=target.rows_per_patient,
    )


def _release_scale(target: PrivacyTarget) -> float:
    """Standard deviation that hides a distance of 2 CERTIFICATE, lambda being in it already."""
    return (
        2
        * CERTIFICATE
        * noise_multiplier(RELEASE_SHARE * target.epsilon, RELEASE_SHARE * target.delta)
    )


def _centred(weights: Array) -> Array:
    """(M, p) without the part that all classes share, which no logit difference shows."""
    result: Array = weights - weights.mean(axis=0)
    return result


def _minimum(
    design: Array, labels: NDArray[np.int64], weights: Array, linear: Array, penalty: float
) -> Array:
    """The (M, p) minimum of the perturbed objective, certified.

    Newton's method, each step by conjugate gradients and halved until the gradient is shorter.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    theta = np.zeros_like(linear)
    targets = np.eye(len(linear))[labels]
    steepest = steepest_slope(len(linear))

    def gradient(theta: Array) -> tuple[Array, Array]:
        """The gradient, and the rows' probabilities; zeros where their loss is a straight line."""
        probabilities = softmax(design @ theta.T, axis=1)
        slopes = probabilities - targets
        straight = np.abs(slopes).max(axis=1) > steepest
        slopes = weights[:, None] * np.clip(slopes, -steepest, steepest)
        probabilities[straight] = 0.0
        return slopes.T @ design + penalty * theta + linear, probabilities

    def curvature(probabilities: Array, direction: Array) -> Array:
        moved = design @ direction.reshape(linear.shape).T
        inner = probabilities * (moved - (probabilities * moved).sum(axis=1, keepdims=True))
        result: Array = (weights[:, None] * inner).T @ design
        return (result + penalty * direction.reshape(linear.shape)).ravel()

    smoothness = penalty + float(weights @ (design**2).sum(axis=1)) / 2
    found, probabilities = gradient(theta)
    length = float(np.linalg.norm(found))
    for _ in range(MAX_STEPS):
        if length <= CERTIFICATE * penalty / 2:
            return theta
        hessian = LinearOperator(
            (theta.size, theta.size), matvec=functools.partial(curvature, probabilities)
        )
        newton, _ = cg(hessian, -found.ravel(), rtol=min(1e-3, length), atol=0.0)
        # A kink may be in Newton's way; a gradient step of this size never lengthens the gradient.
        tries = [2.0**-k * newton.reshape(theta.shape) for k in range(_HALVINGS)]
        for step in [*tries, -found / smoothness]:
            after, chances = gradient(theta + step)
            if float(np.linalg.norm(after)) < length:
                break
        theta, found, probabilities = theta + step, after, chances
        length = float(np.linalg.norm(found))
    raise ModelError(
        "the minimum of a private fit was not found",
        found=f"a gradient of length {length:.1e}",
        expected=f"at most {CERTIFICATE * penalty / 2:.1e}",
        hint="Are the features scaled to about [-1, 1]?",
    )
