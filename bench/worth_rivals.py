"""What a reviewer asks to see beside `transfer`: usual models, alone and pooled, and plain sums.

Nothing here is encrypted or tuned. "FedAvg of fits" is the mean of everybody's tuned fits, weighed
by patients. "COLA-GLM" (one round, lossless) sums how often every pattern of covariates occurs
with every class, which is all that a fit of discrete covariates needs: it equals the pooled fit of
features that are rounded to `LEVELS`. Where hardly a pattern occurs twice, counts are the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from worth_data import Hospital

from securefair.data.dataset import ParticipantData, Samples
from securefair.model.probabilities import probabilities_of
from securefair.model.stored import Function, logits_of
from securefair.model.transfer import Fitted, OwnFit, own_fit, weighted_sum
from securefair.model.usual import USUAL, Estimated, averaged, usual_model
from securefair.worth.tuned import ENSEMBLE

Array = NDArray[np.float64]
LEVELS = 5
"""Equally spaced in [-1, 1]: what a measurement is rounded to where covariates must be discrete."""

RIVALS = (*USUAL, "ensemble")
SUMS = ("FedAvg of fits", "COLA-GLM")


def rivals(
    hospitals: Sequence[Hospital], own: Mapping[str, OwnFit], everybody: Samples, seed: int
) -> dict[str, dict[str, Function]]:
    """By method, everybody's model."""
    names = [one.name for one in hospitals]
    pooled = own_fit(everybody, rng=np.random.default_rng([seed, 2])).averaged
    together = _usual(everybody, pooled, seed)
    result: dict[str, dict[str, Function]] = {
        f"pooled {kind}": dict.fromkeys(names, model) for kind, model in together.items()
    }
    for one in hospitals:
        for kind, model in _usual(one.train, own[one.name].averaged, seed).items():
            result.setdefault(f"{kind} alone", {})[one.name] = model
    sizes = np.array([len(one.train) for one in hospitals])
    mean = weighted_sum((sizes / sizes.sum()).tolist(), [own[name].model for name in names])
    result["FedAvg of fits"] = dict.fromkeys(names, mean)
    result["COLA-GLM"] = dict.fromkeys(names, cola_glm(everybody, seed))
    return result


def with_transfer(
    people: Sequence[ParticipantData], found: Mapping[str, Mapping[str, Function]]
) -> dict[str, Function]:
    """The ensemble alone, with the transfer in the place of the averaged fits."""
    return {
        one.name: averaged(
            [
                partial(_said, found[method][one.name])
                for method in ("transfer, trees", *(f"{name} alone" for name in ENSEMBLE))
            ],
            one.train,
        )
        for one in people
    }


def _said(model: Function, features: Array) -> Array:
    return probabilities_of(logits_of(model, features))


def ensemble_alone(samples: Samples, own: OwnFit, seed: int) -> Estimated:
    """What a hospital with a statistician has alone."""
    return _usual(samples, own.averaged, seed, ENSEMBLE)["ensemble"]


def cola_glm(everybody: Samples, seed: int) -> Estimated:
    """The fit that sums of patterns' counts give, of features as they are there."""
    fit = own_fit(
        replace(everybody, features=rounded(everybody.features)),
        rng=np.random.default_rng([seed, 2]),
    ).averaged
    width = int(everybody.features.shape[1])
    return Estimated(lambda x: fit.predict_proba(rounded(x)), width, everybody.classes)


def rounded(features: Array) -> Array:
    """To the nearest of `LEVELS`."""
    steps = (LEVELS - 1) / 2
    result: Array = np.round(np.clip(features, -1, 1) * steps) / steps
    return result


def _usual(
    samples: Samples, fits: Fitted, seed: int, names: Iterable[str] = USUAL
) -> dict[str, Estimated]:
    found = {name: usual_model(name, samples, seed) for name in names}
    members: list[Callable[[Array], Array]] = [fits.predict_proba]
    members += [found[name].probabilities for name in ENSEMBLE]
    return found | {"ensemble": averaged(members, samples)}
