"""A configuration and a seed -> everyone's samples, training and test apart."""

from __future__ import annotations

from dataclasses import replace

from securefair.config import RunConfig
from securefair.config.extensions import DATA_SETS, extension_of
from securefair.data import ParticipantData, load_heart
from securefair.data.split import keep_training
from securefair.model.teachers import teacher_of
from securefair.user.own import OWN
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
    tables = ReadTables(config.table) if tables is None else tables
    data = config.data
    if data.source in OWN:
        everyone = OWN[data.source](config, seed, tables, outlines=outlines)
    elif data.source in PACKAGED:
        everyone = PACKAGED[data.source](seed, data.test_fraction)
    else:
        everyone = extension_of(DATA_SETS, data.source, what="data set", where="data.source")(
            data.partition, test_fraction=data.test_fraction, seed=seed
        )
    brought = {
        one.name: teacher_of(one.teacher, where=f"participants, {one.name}, teacher")
        for one in config.participants
        if one.teacher is not None
    }
    most, balanced = data.most_training, config.training.class_weight == "balanced"

    def trained(own: ParticipantData) -> ParticipantData:
        """With as many training samples, and with such weights, as the configuration asks for."""
        if most is not None:
            own = keep_training(own, most, seed)
        return replace(own, train=own.train.balanced()) if balanced else own

    return [
        replace(
            trained(own),
            earlier=tuple(
                replace(trained(before), teacher=brought.get(own.name)) for before in own.earlier
            ),
            teacher=brought.get(own.name),
        )
        for own in everyone
    ]
