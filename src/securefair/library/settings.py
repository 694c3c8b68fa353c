"""Arguments of a call -> the configuration that a file would have given, with the same checks."""

from __future__ import annotations

import sys
from typing import TypeVar

from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.kinds import kind_of, kinds_of, refuse_unread
from securefair.collaboration.private import PrivacyTerms
from securefair.config import RunConfig
from securefair.config.loading import checked_settings
from securefair.errors import ConfigError
from securefair.model.training import OptimizerConfig
from securefair.privacy import SgdSettings
from securefair.worth import ReputationRule

T = TypeVar("T")

SOURCE = "collaborate"
"""Where errors say that a setting stands."""

ENTRY = "your_code:hospitals"
"""Stands in the configuration of a written run for data that only the caller has."""

UNLIMITED = sys.float_info.max
"""Stands for None where a file needs a number."""


def settings(
    *,
    algorithm: str,
    model: str | None,
    rounds: int | None,
    local_epochs: int | None,
    local_steps: int | None,
    optimizer: OptimizerConfig | None,
    hidden: int | None,
    feature_range: tuple[float, float] | None,
    test_fraction: float,
    release: str | None,
    basis: str | None,
    q: int | None,
    temperature: float | None,
    lambda_0: float | None,
    rule: ReputationRule | None,
    forced_every: int | None,
    backend: str,
    flooding_bits: int | None,
    precision: float | None,
    disclosure: DisclosureLimits | None,
    privacy: PrivacyTerms | None,
    seed: int,
) -> RunConfig:
    """A checked configuration of what was given; arguments as of `collaborate`.

    Args:
        model: name of the kind of model that everyone was given, if it has one.

    Raises:
        ConfigError: an argument is out of range or of the wrong type, or the algorithm does not
            read it; names its section and key.
    """
    steps = _of(OptimizerConfig, "optimizer", optimizer)
    reputations = _of(ReputationRule, "rule", rule)
    limits = _of(DisclosureLimits, "disclosure", disclosure)
    reads = kind_of(algorithm).reads
    transfers = "transfer.q" in reads
    table: dict[str, dict[str, object]] = {
        "run": {"name": "collaboration", "seeds": [seed], "algorithms": ["standalone", algorithm]},
        "data": {
            "source": "python",
            "entry": ENTRY,
            "test_fraction": test_fraction,
            "feature_range": feature_range,
        },
        "model": {"kind": model if "model.kind" in reads else None, "hidden": hidden},
        "training": {
            "local_epochs": local_epochs,
            "rounds": rounds,
            "local_steps": local_steps,
        },
        "transfer": {
            "fit": model if transfers else None,
            "q": q if transfers else None,
        },
        "distillation": {
            "release": release,
            "basis": basis,
            "temperature": temperature,
            "lambda_0": lambda_0,
            "q": None if transfers else q,
        },
        "fairness": {"forced_every": forced_every},
        "encryption": {
            "backend": backend,
            "flooding_bits": flooding_bits,
            "precision": precision,
        },
    }
    if optimizer is not None:
        table["training"] |= {
            "learning_rate": steps.learning_rate,
            "momentum": steps.momentum,
            "weight_decay": steps.weight_decay,
            "clip_norm": UNLIMITED if steps.clip_norm is None else steps.clip_norm,
        }
    if rule is not None:
        table["fairness"] |= {
            "alpha": reputations.alpha,
            "tau_opt": reputations.tau_opt,
            "tau_max": reputations.tau_max,
        }
    if disclosure is not None:
        table["disclosure"] = {
            "fraction": UNLIMITED if limits.fraction is None else limits.fraction,
            "student_total": limits.student_total,
            "teacher_total": limits.teacher_total,
        }
    if privacy is not None:
        table["privacy"] = _privacy(_of(PrivacyTerms, "privacy", privacy))
    given = {
        section: {key: value for key, value in keys.items() if value is not None}
        for section, keys in table.items()
    }
    config = checked_settings({name: keys for name, keys in given.items() if keys}, source=SOURCE)
    kinds_of(config)
    refuse_unread(config)
    return config


def _privacy(terms: PrivacyTerms) -> dict[str, object]:
    """As a [privacy] section, without what is left to its defaults."""
    if terms.settings != SgdSettings():
        raise ConfigError(
            "a run's configuration holds no settings of DP-SGD: this call would drop them",
            where="privacy.settings",
            found=terms.settings,
            expected="the package's",
        )
    epsilon, delta = terms.require or (None, None)
    given = {
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "rows_per_patient": terms.rows_per_patient,
        "asked_epsilon": terms.asked_epsilon,
        "require_epsilon": epsilon,
        "require_delta": delta,
        "store": None if terms.store is None else str(terms.store),
        "total_epsilon": terms.total_epsilon,
        "total_delta": terms.total_delta,
    }
    return {key: value for key, value in given.items() if value is not None}


def _of(kind: type[T], where: str, given: T | None) -> T:
    """The argument, or its default; another type would only fail much later."""
    if given is None:
        return kind()
    if not isinstance(given, kind):
        raise ConfigError(
            "this argument is of another type",
            where=where,
            found=type(given).__name__,
            expected=f"securefair.{kind.__name__}",
        )
    return given
