"""Participants whose holdings an experiment prescribes, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition.interface import Indices, check_enough, samples_by_class


@dataclass(frozen=True, kw_only=True)
class CountsPartitioner:
    """Each participant holds so many samples of each class; the rest is left out.

    DPFL's App. A shows with such a division that two peers help together where each alone harms.

    Args:
        counts: for each participant, class -> samples, each at least 1.
    """

    counts: tuple[Mapping[int, int], ...]

    def __post_init__(self) -> None:
        for n, own in enumerate(self.counts, start=1):
            if not own or min(own) < 0 or min(own.values()) < 1:
                raise ConfigError(
                    f"participant {n} needs classes from 0 and samples of each",
                    where="counts",
                    found=dict(own),
                )
        if not self.counts:
            raise ConfigError("no participants", where="counts")

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`; leaves samples out.

        Raises:
            DataError: also where a class has too few samples for all who hold it.
        """
        check_enough(labels, len(self.counts))
        left = samples_by_class(labels, rng)
        for label in sorted({label for own in self.counts for label in own}):
            wanted = sum(own.get(label, 0) for own in self.counts)
            found = len(left.get(label, ()))
            if found < wanted:
                raise DataError(
                    "a class has too few samples",
                    where=f"class {label}",
                    found=found,
                    expected=f"at least {wanted}",
                )
        parts = []
        for own in self.counts:
            pieces = []
            for label, size in own.items():
                pieces.append(left[label][:size])
                left[label] = left[label][size:]
            parts.append(rng.permutation(np.concatenate(pieces)))
        return parts
