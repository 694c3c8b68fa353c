"""Which task a profile runs: the demo's or a configuration's, stretched to a size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from securefair.collaboration import kinds_of
from securefair.config import RunConfig, defaults, demo_config, override
from securefair.data import HOSPITALS, ParticipantData, Samples
from securefair.errors import ConfigError

DIVISIBLE = "breast-cancer"
"""The data set for any number of participants, if none is named: it has no hospitals to respect."""

STEADY_LAMBDA = 10.0
"""Weight of the distillation loss on other data than the demo's: its own 50 overshoots there, until
weights exceed what was planned for."""

COMMAND_LINE = "command line"


def task_config(
    base: RunConfig | None = None,
    *,
    source: str | None = None,
    participants: int | None = None,
    rounds: int | None = None,
    release: str | None = None,
    q: int | None = None,
    backend: str | None = None,
) -> RunConfig:
    """A configuration with the changes that a command line asks for.

    Args:
        base: None for the demo at an ordinary precision.
        source: packaged data set.
        participants: equal parts of a data set without hospitals of its own; the four of "heart"
            are what they are.
        rounds, release, q, backend: instead of the configuration's.

    Raises:
        ConfigError: a value is not possible.
    """
    changes: dict[str, object] = {}
    default = base is None
    base = base or demo_config()
    if default:
        # The demo's own is finer, to compare two runs.
        changes["encryption.precision"] = defaults.PRECISION
    if source is not None or participants is not None:
        section = changes["data"] = _data_section(base, source, participants)
        if default and section["source"] != base.data.source:
            changes["distillation.lambda_0"] = STEADY_LAMBDA
    for key, value in (
        ("training.rounds", rounds),
        ("distillation.release", release),
        ("distillation.q", q),
        ("encryption.backend", backend),
    ):
        if value is not None:
            changes[key] = value
    task = override(base, changes, source=COMMAND_LINE) if changes else base
    kinds_of(task)
    return task


def reshaped(
    data: Sequence[ParticipantData], *, samples: int | None, features: int | None, seed: int
) -> list[ParticipantData]:
    """The same task at another size, because encrypted cost depends on sizes alone.

    Args:
        data: the participants.
        samples: training samples of every participant: drawn without replacement while there are
            enough, then repeated.
        features: columns of zeros are added, or the last ones dropped; a column costs the same
            whatever it holds.
        seed: of the draw.

    Raises:
        ConfigError: fewer than two samples or no feature.
    """
    for name, value, least in (("samples", samples, 2), ("features", features, 1)):
        if value is not None and value < least:
            raise ConfigError("out of range", where=name, found=value, expected=f">= {least}")
    rng = np.random.default_rng(seed)
    changed = []
    for own in data:
        train, test = own.train, own.test
        if samples is not None:
            train = train.take(np.resize(rng.permutation(len(train)), samples))
        if features is not None:
            train, test = _widened(train, features), _widened(test, features)
        changed.append(replace(own, train=train, test=test))
    return changed


def with_possible_q(config: RunConfig, data: Sequence[ParticipantData]) -> RunConfig:
    """Half as many numbers a class as the smallest participant has samples, if q is not fewer.

    For commands that choose q themselves; a q that somebody asks for is left to the planner.
    """
    fewest = min(len(own.train) for own in data)
    if config.distillation.q < fewest:
        return config
    return override(config, {"distillation.q": max(1, fewest // 2)}, source=COMMAND_LINE)


def _data_section(
    base: RunConfig, source: str | None, participants: int | None
) -> dict[str, object]:
    natural = participants in (None, len(HOSPITALS))
    named = source or (base.data.source if natural or base.data.partition else DIVISIBLE)
    section: dict[str, object] = {"source": named, "test_fraction": base.data.test_fraction}
    if not (named == "heart" and natural):  # any other number of these hospitals is refused later
        parts = len(HOSPITALS) if participants is None else participants
        section["partition"] = {"kind": "homogeneous", "participants": parts}
    return section


def _widened(samples: Samples, features: int) -> Samples:
    kept = samples.features[:, :features]
    zeros = np.zeros((len(samples), features - kept.shape[1]))
    return Samples(np.hstack([kept, zeros]), samples.labels, samples.classes)
