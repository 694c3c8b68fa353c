"""Objective perturbation of generalised linear models: how much noise a target needs.

A fit that minimises

    sum_patients (1/m) sum_rows loss(W x) + lambda/2 |W|^2 + <B, W>,      B ~ N(0, sigma^2)

is private for a random linear term B (Chaudhuri, Monteleoni, Sarwate 2011; Kifer, Smith, Thakurta
2012). The analysis is that of Redberg, Koskela, Wang (NeurIPS 2023), Theorem 3.1, for softmax
losses and patients of several rows:

B is a function of the released W, namely minus the gradient of the rest. Adding a patient changes
the density of W by two factors. The Jacobian: the patient's Hessian has trace at most
(1 - 1/M) |x|^2 and rank at most r = m (M - 1), the others' is at least lambda, so its factor is at
most

    c = r log(1 + |x|^2 / (M m lambda)).

The Gaussian: the patient's gradient g, of length at most L = sqrt(2) s |x|, lies in a subspace V
of r dimensions that its rows fix (M - 1 a row, as logits' gradients sum to zero). Its factor is
at most |B_V| L / sigma^2 + L^2 / 2 sigma^2, and |B_V| / sigma is chi-distributed, r degrees.
With mu = L / sigma the privacy loss is at most c + mu chi_r + mu^2 / 2, hence

    delta(epsilon) = E[(1 - exp(epsilon - c - mu^2/2 - mu chi_r))_+],

for a patient more as for a patient less. With M = 2 and m = 1 this is the theorem's formula.

s is the steepest slope of the loss in a logit. For two classes the logistic loss is continued as a
straight line where a patient is on the wrong side (s = 1/2 instead of 1): half the noise. The
loss stays convex with a Lipschitz gradient, so that W -> B stays one-to-one and Lipschitz in both
directions, and the densities above exist almost everywhere (Rademacher). It still prefers the
likelier class, and tells it more confidently than the logistic loss would. The softmax of more
classes has no such continuation: s = 1.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from securefair.errors import ConfigError

CURVATURE_SHARE = 0.12
"""Part of epsilon that the Jacobian may take. It fixes lambda, which is therefore public: a larger
part means a weaker penalty, and more noise. Chosen on census data, in which no figure of this
package's comparisons is measured."""
PENALTY_EPSILON = 4.0
"""The penalty falls with epsilon up to here. Where it went on falling, epsilon 8 did worse than 4
does: on census data (docs/decisions/0020-differential-privacy.md)."""
LEAST_PENALTY = 0.6
"""lambda is no smaller, however large epsilon."""
_TAIL = 40.0  # of the chi distribution around sqrt(r), beyond which float64 holds nothing
_LARGEST_RATIO = 30.0  # its loss is above 450 everywhere: no epsilon that is accepted allows it


@dataclass(frozen=True, kw_only=True)
class ObjectiveNoise:
    """An objective perturbation that is at most as revealing as a target.

    Attributes:
        scale: sigma, of every coordinate of B.
        penalty: lambda.
    """

    scale: float
    penalty: float


def steepest_slope(classes: int) -> float:
    """s of the module's text."""
    return 0.5 if classes == 2 else 1.0


def delta_of(epsilon: float, *, ratio: float, degrees: int, curvature: float) -> float:
    """delta(epsilon) of the module's formula.

    Args:
        epsilon: at least 0.
        ratio: mu = L / sigma, above 0.
        degrees: r, at least 1.
        curvature: c, at least 0.
    """
    from scipy import integrate

    left = epsilon - curvature - ratio**2 / 2
    peak = math.sqrt(degrees)  # around which chi lies, within a few units however large r
    start = max(0.0, left / ratio, peak - _TAIL)
    end = max(start, peak) + _TAIL
    marks = [start + 0.5, start + 2, start + 8, *(peak + step for step in (-8, -2, 0, 2, 8))]
    constant = (1 - degrees / 2) * math.log(2) - math.lgamma(degrees / 2)

    def density(t: float) -> float:
        """Of the chi distribution; scipy's own takes forty times as long for one number."""
        return math.exp(constant + (degrees - 1) * math.log(t) - t * t / 2)

    value, error = integrate.quad(
        lambda t: density(t) * -math.expm1(left - ratio * t),
        start,
        end,
        points=sorted({mark for mark in marks if start < mark < end}),
        epsabs=0.0,
        epsrel=1e-9,
        limit=400,
    )
    return float(min(1.0, value + error))


def penalty_of(epsilon: float, *, row_norm: float, classes: int, rows: int) -> float:
    """lambda by the public rule: the Jacobian costs CURVATURE_SHARE of epsilon, 4 at most."""
    degrees = rows * (classes - 1)
    room = math.expm1(CURVATURE_SHARE * min(epsilon, PENALTY_EPSILON) / degrees)
    return max(LEAST_PENALTY, row_norm**2 / (classes * rows * room))


@functools.lru_cache(maxsize=1024)
def objective_noise(
    epsilon: float, delta: float, *, row_norm: float, classes: int, rows: int
) -> ObjectiveNoise:
    """The least noise that meets (epsilon, delta), with the public penalty.

    Args:
        epsilon, delta: of the exact minimum alone; epsilon is at most LARGEST_EPSILON.
        row_norm: largest length of a row, its constant 1 included.
        classes: M, at least 2.
        rows: m, most rows of a patient.

    Raises:
        ConfigError: no noise is enough.
    """
    from scipy import optimize

    penalty = penalty_of(epsilon, row_norm=row_norm, classes=classes, rows=rows)
    degrees = rows * (classes - 1)
    curvature = degrees * math.log1p(row_norm**2 / (classes * rows * penalty))
    sensitivity = math.sqrt(2) * steepest_slope(classes) * row_norm

    def excess(log_ratio: float) -> float:
        found = delta_of(epsilon, ratio=math.exp(log_ratio), degrees=degrees, curvature=curvature)
        return math.log(max(found, 1e-300)) - math.log(delta)

    low, high = math.log(1e-4), math.log(_LARGEST_RATIO)
    if excess(low) > 0:
        raise ConfigError(
            "no noise reaches this target",
            where="privacy.epsilon",
            found=f"epsilon {epsilon:g}, delta {delta:g}",
            expected="a larger epsilon",
        )
    root = optimize.brentq(excess, low, high, xtol=1e-6)
    # The root is exact to 1e-6 in the logarithm: step back by more.
    return ObjectiveNoise(scale=sensitivity / math.exp(root - 1e-5), penalty=penalty)
