"""A configuration and a seed -> everyone's samples, training and test apart."""

from __future__ import annotations

from dataclasses import replace

from securefair.config import RunConfig
from securefair.config.extensions import data_set_of
from securefair.data import ParticipantData, load_heart
from securefair.data.split import keep_training
from securefair.user.own import load_own
from securefair.user.tables import ReadTables

PACKAGED = {"heart": load_heart}
"""Data sets that come with the package, which have participants of their own."""


def load_participants(
    config: RunConfig, seed: int, tables: ReadTables | None = None, *, outlines: bool = False
) -> list[ParticipantData]:
    """The participants that a configuration asks for.

    Args:
        config: checked, with the rules of tables spelt out.
        seed: of what is held out and of how data are divided.
        tables: that are read; None where nobody else looks at them.
        outlines: features are read and checked, and zeros that take no memory stand in for them:
            for whoever only plans.

    Raises:
        SecureFairError: the data cannot be read, used or divided so.
    """
    tables = ReadTables() if tables is None else tables
    everyone = _all_samples(config, seed, tables, outlines=outlines)
    return [
        replace(
            _as_trained(own, config, seed),
            earlier=tuple(_as_trained(before, config, seed) for before in own.earlier),
        )
        for own in everyone
    ]


def _as_trained(own: ParticipantData, config: RunConfig, seed: int) -> ParticipantData:
    """With as many training samples, and with such weights, as the configuration asks for."""
    if (most := config.data.most_training) is not None:
        own = keep_training(own, most, seed)
    if config.training.class_weight == "balanced":
        own = replace(own, train=own.train.balanced())
    return own


def _all_samples(
    config: RunConfig, seed: int, tables: ReadTables, *, outlines: bool
) -> list[ParticipantData]:
    if config.data.own:
        return load_own(config, seed, tables, outlines=outlines)
    data = config.data
    if data.source in PACKAGED:
        return PACKAGED[data.source](seed, data.test_fraction)
    found: list[ParticipantData] = data_set_of(data.source)(
        data.partition, test_fraction=data.test_fraction, seed=seed
    )
    return found
