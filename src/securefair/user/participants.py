"""A configuration and a seed -> everyone's samples, training and test apart."""

from __future__ import annotations

from dataclasses import replace

from securefair.config import RunConfig
from securefair.data import PARTITIONERS, ParticipantData, load_population
from securefair.data.split import keep_training
from securefair.user.own import load_own


def load_participants(
    config: RunConfig, seed: int, *, outlines: bool = False
) -> list[ParticipantData]:
    """The participants that a configuration asks for.

    Args:
        config: checked.
        seed: of what is held out and of how data are divided.
        outlines: features are read and checked, and zeros that take no memory stand in for them:
            for whoever only plans.

    Raises:
        SecureFairError: the data cannot be read, used or divided so.
    """
    everyone = _all_samples(config, seed, outlines=outlines)
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


def _all_samples(config: RunConfig, seed: int, *, outlines: bool) -> list[ParticipantData]:
    if config.data.own:
        return load_own(config, seed, outlines=outlines)
    partition = config.data.partition
    partitioner = None
    if partition is not None:
        settings = partition.model_dump(exclude={"kind"})
        partitioner = PARTITIONERS[partition.kind](**settings)
    return load_population(
        config.data.source, partitioner, test_fraction=config.data.test_fraction, seed=seed
    )
