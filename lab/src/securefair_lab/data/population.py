"""The packaged data sets by name, divided among participants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np

from securefair.config import Partition, defaults
from securefair.data import (
    HEART_SPEC,
    ParticipantData,
    Samples,
    encode,
    heart_rows,
    hold_out,
    load_heart,
    stratified_rows,
)
from securefair.errors import ConfigError
from securefair_lab.data.partition import PARTITIONERS, Partitioner
from securefair_lab.data.sklearn_sets import breast_cancer, digits

POOLED: Mapping[str, Callable[[], Samples]] = MappingProxyType(
    {
        "heart": lambda: encode(heart_rows(), HEART_SPEC),
        "breast-cancer": breast_cancer,
        "digits": digits,
    }
)
"""All samples of each data set, in its own order."""

NATURAL: Mapping[str, Callable[[int, float], list[ParticipantData]]] = MappingProxyType(
    {"heart": load_heart}
)
"""Those that come with participants of their own, from a seed and a test fraction."""


def load_population(
    name: str,
    partitioner: Partitioner | None = None,
    *,
    test_fraction: float = defaults.TEST_FRACTION,
    seed: int,
    held_out: Literal["own", "shared"] = "own",
) -> list[ParticipantData]:
    """The participants of a packaged data set.

    Args:
        name: "heart", "breast-cancer" or "digits".
        partitioner: how to divide the pooled samples; the participants are then "P1", "P2", ...
            None for the data set's own participants (the four hospitals of "heart").
        test_fraction: held out for testing, stratified by class, in (0, 1).
        seed: of all draws.
        held_out: "own" holds out a part of each participant's samples, so that everyone is
            tested on its own distribution; "shared" holds out before dividing and tests everyone
            on the same samples. Natural participants have only "own".

    Raises:
        ConfigError: no such data set, or one without participants of its own and no partitioner.
        DataError: the partitioner cannot divide these samples, or a participant has too few to
            hold any out.
    """
    if name not in POOLED:
        raise ConfigError("no such data set", where="name", found=name, expected=", ".join(POOLED))
    if partitioner is None:
        if name not in NATURAL:
            raise ConfigError(
                f"data set {name!r} has no participants of its own",
                where="partitioner",
                hint="Give one, for example IidPartitioner(participants=4)",
            )
        if held_out != "own":
            raise ConfigError(
                "natural participants test on their own samples",
                where="held_out",
                found=held_out,
                expected='"own", or a partitioner',
            )
        return NATURAL[name](seed, test_fraction)
    pooled, rng = POOLED[name](), np.random.default_rng(seed)
    if held_out == "own":
        people = []
        for n, part in enumerate(partitioner.partition(pooled.labels, rng), start=1):
            own = hold_out(f"P{n}", pooled.take(part), test_fraction, seed)
            people.append(replace(own, test_rows=part[own.test_patients]))
        return people
    kept, held = stratified_rows(pooled.labels, test_fraction, rng)
    train, test = pooled.take(kept), pooled.take(held)
    return [
        ParticipantData(f"P{n}", train.take(part), test, test_rows=held)
        for n, part in enumerate(partitioner.partition(train.labels, rng), start=1)
    ]


def participants_of(
    name: str, partition: Partition, *, test_fraction: float, seed: int
) -> list[ParticipantData]:
    """The participants of a configuration's section `data.partition`; see `load_population`."""
    settings = partition.model_dump(exclude={"kind"})
    return load_population(
        name, PARTITIONERS[partition.kind](**settings), test_fraction=test_fraction, seed=seed
    )


breast_cancer_participants = partial(participants_of, "breast-cancer")
digits_participants = partial(participants_of, "digits")
"""Those that the entry points name."""
