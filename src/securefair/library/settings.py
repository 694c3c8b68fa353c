"""Arguments of a call -> the configuration that a file would have given, with the same checks."""

from __future__ import annotations

from collections.abc import Mapping

from securefair.collaboration.kinds import kind_of, refuse_unread
from securefair.config import RunConfig, kinds_keys
from securefair.config.base import Section
from securefair.config.keys import in_sections
from securefair.config.loading import checked_settings
from securefair.errors import ConfigError

SOURCE = "collaborate"
"""Where errors say that a setting stands."""

ENTRY = "your_code:hospitals"
"""Stands in the configuration of a written run for data that only the caller has."""

GENERAL = frozenset(
    {"data.test_fraction", "data.feature_range", "run.metric", "run.ceiling", "report.title"}
)
"""Keys that mean something whatever the algorithm is, where the caller brings the data."""

_MOVED = {
    "optimizer": "learning_rate, momentum, weight_decay and clip_norm are keys by themselves",
    "rule": "alpha, tau_opt and tau_max are keys by themselves",
    "disclosure": 'a table, disclosure={"student_total": 100}, or its keys by themselves',
    "privacy": 'a table, privacy={"epsilon": 2.0}, or its keys by themselves',
}
"""Arguments that were objects before settings were keys."""


def settings(
    given: Mapping[str, object], *, algorithm: str, model: str | None, seed: int
) -> RunConfig:
    """A checked configuration of what was given.

    Args:
        given: keys of sections by their names, or sections as tables; None stands for its default.
        algorithm: names a kind.
        model: name of the kind of model that everyone was given, if it has one.
        seed: of everything.

    Raises:
        ConfigError: there is no such key, a value is out of range or of the wrong type, or the
            algorithm does not read it; names its section and key.
    """
    kind = kind_of(algorithm)
    for name in set(given) & set(_MOVED):
        if given[name] is not None and not isinstance(given[name], Mapping | Section):
            raise ConfigError(
                "settings are keys of the configuration",
                where=f"{SOURCE}: {name}",
                found=type(given[name]).__name__,
                hint=f"Now {_MOVED[name]}",
            )
    table = in_sections(given, kind.reads | GENERAL, others=kinds_keys(), source=SOURCE)
    if model is not None:
        section, _, key = kind.model_key.partition(".")
        table.setdefault(section, {}).setdefault(key, model)
    data = {"source": "python", "entry": ENTRY} | table.pop("data", {})
    run = {"name": "collaboration", "seeds": [seed], "algorithms": ["standalone", algorithm]}
    config = checked_settings(
        {"run": run | table.pop("run", {}), "data": data, **table}, source=SOURCE
    )
    kind.check(config)
    refuse_unread(config)
    return config
