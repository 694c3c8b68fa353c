"""Arguments of a call -> the configuration that a file would have given, with the same checks."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from securefair.collaboration.kinds import REGISTERED, kind_of, refuse_unread
from securefair.config import RunConfig, kinds_keys
from securefair.config.base import Section
from securefair.config.keys import in_sections
from securefair.config.loading import check_settings
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
    "optimizer": "learning_rate, momentum, weight_decay and clip_norm, each by itself",
    "rule": "alpha, tau_opt and tau_max, each by itself",
    "disclosure": 'disclosure={"student_total": 100}, or student_total=100',
    "privacy": 'privacy={"epsilon": 2.0}, or epsilon=2.0',
}
"""What to write instead of objects that stand for several keys."""

_TABLES = (
    "label=TableSpec(..., target=Target(..., outcome=...)): numbers, counts and times are columns "
    "of tables"
)

_MEANT = {
    "algorithms": "the argument algorithm",
    "outcome": _TABLES,
    "event": _TABLES,
    "exposure": _TABLES,
    "label_range": _TABLES,
    "lr": "learning_rate",
    "seeds": "the argument seed",
}
"""What to write instead of names that a file or another library has for it."""

_SEEDS = 2**32


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
    seed = _checked_seed(seed)
    given = {name: _plain(value) for name, value in given.items()}
    if not isinstance(algorithm, str):
        raise ConfigError(
            "an algorithm is named by a text",
            where=f"{SOURCE}: algorithm",
            found=type(algorithm).__name__,
            expected=", ".join(REGISTERED),
        )
    kind = kind_of(algorithm, where=f"{SOURCE}: algorithm")
    for name in set(given) & set(_MOVED):
        if given[name] is not None and not isinstance(given[name], Mapping | Section):
            raise ConfigError(
                "this stands for several keys",
                where=f"{SOURCE}: {name}",
                found=type(given[name]).__name__,
                hint=f"Write {_MOVED[name]}",
            )
    table = in_sections(
        given, kind.reads | GENERAL, others=kinds_keys(), meant=_MEANT, source=SOURCE
    )
    if model is not None:
        section, _, key = kind.model_key.partition(".")
        table.setdefault(section, {}).setdefault(key, model)
    data = {"source": "python", "entry": ENTRY} | table.pop("data", {})
    run = {"name": "collaboration", "seeds": [seed], "algorithms": ["standalone", algorithm]}
    config = check_settings(
        {"run": run | table.pop("run", {}), "data": data, **table}, source=SOURCE
    )
    kind.check(config)
    refuse_unread(config, asked=f"algorithm={algorithm}")
    return config


def _plain(value: object) -> object:
    """The same with int in the place of other whole numbers, such as numpy's; in tables and lists,
    too. A file has no others, so nobody behind this need know them."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        plain = map(_plain, value)
        return list(plain) if isinstance(value, list) else tuple(plain)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return value
    try:
        return operator.index(value)
    except TypeError:  # arrays of several
        return value


def _checked_seed(given: object) -> int:
    """A file has several seeds, and says so in its errors; a call has one."""
    seed = _plain(given)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _SEEDS:
        raise ConfigError(
            "a value cannot be used",
            where=f"{SOURCE}: seed",
            found=given,
            expected=f"a whole number from 0 to {_SEEDS - 1}",
        )
    return seed
