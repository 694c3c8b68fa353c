"""Participants that the data already have: hospitals, writers, devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from securefair.errors import ConfigError, DataError
from securefair_lab.data.partition.interface import Indices, check_enough


@dataclass(frozen=True, kw_only=True)
class NaturalIdPartitioner:
    """One participant for each identifier, such as the hospital column of a table.

    Args:
        ids: the identifier of each sample, in the order of the labels.
        classes_each: of how many of its classes, drawn at random, each participant keeps its
            samples; the others are left out (DPFL takes further classes from FEMNIST's writers,
            which ones stands in a file that it does not print). None for all.
    """

    ids: tuple[str | int, ...]
    classes_each: int | None = None

    def __post_init__(self) -> None:
        if not self.ids:
            raise ConfigError("no identifiers", where="ids")
        if self.classes_each is not None and self.classes_each < 1:
            raise ConfigError(
                "out of range", where="classes_each", found=self.classes_each, expected=">= 1"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The participants, in the order of their first sample."""
        return tuple(str(name) for name in dict.fromkeys(self.ids))

    def partition(self, labels: Indices, rng: np.random.Generator) -> list[Indices]:
        """See `Partitioner`; the order is that of `names`.

        Raises:
            DataError: also where there is not one identifier a sample.
        """
        check_enough(labels, len(self.names))
        if len(self.ids) != len(labels):
            raise DataError(
                "not one identifier a sample",
                where="ids",
                found=len(self.ids),
                expected=len(labels),
            )
        rows: dict[str | int, list[int]] = {}
        for row, name in enumerate(self.ids):
            rows.setdefault(name, []).append(row)
        parts = [rng.permutation(np.array(own, dtype=np.int64)) for own in rows.values()]
        if self.classes_each is None:
            return parts
        return [part[np.isin(labels[part], self._kept(labels[part], rng))] for part in parts]

    def _kept(self, own: Indices, rng: np.random.Generator) -> Indices:
        """The classes that a participant with these labels keeps."""
        return rng.permutation(np.unique(own))[: self.classes_each]
