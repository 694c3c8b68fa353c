"""Files that participants bring -> samples, by the rules of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from securefair.config import ParticipantSection, RunConfig
from securefair.config.columns import OwnColumn
from securefair.data import (
    ParticipantData,
    Samples,
    TableSpec,
    encode,
    hold_out,
    read_npz,
    samples_of,
)
from securefair.data.encoding import Extract
from securefair.data.filling import completed
from securefair.data.groups import patients_of
from securefair.data.places import staying
from securefair.errors import ConfigError, DataError
from securefair.user.data_sets import alike
from securefair.user.tables import ReadTables, about, extractor_files, table_spec

FEATURES = ".securefair-features"
"""Folder beside a table for the features of its images, which tell of patients as these do."""


def from_files(
    config: RunConfig, seed: int, tables: ReadTables, *, outlines: bool
) -> list[ParticipantData]:
    """Everybody's samples.

    Args:
        config: with the rules of tables spelt out.
        seed: of what is held out.
        tables: that are read.
        outlines: whether only labels and the shape of features are kept.

    Raises:
        DataError: a file cannot be used; names participant, file, line and column.
    """
    load = _FileLoader(config, tables, outlines=outlines)
    held_out = config.data.test_fraction

    def loaded(one: ParticipantSection, further: Sequence[OwnColumn]) -> ParticipantData:
        if not outlines:
            return _loaded(partial(load, further=further), one, held_out, seed)
        own = _loaded(
            lambda path, known: _outline(load(path, further=further, known=known)),
            one,
            held_out,
            seed,
        )
        return replace(own, train=_outline(own.train), test=_outline(own.test))

    everyone = []
    for one in config.participants:
        further = one.columns or ()
        later = [
            loaded(renewed, further) for renewed in config.renewals if renewed.name == one.name
        ]
        states = [loaded(one, further)]
        for then in later:  # an outline has no rows to be known by, and nearly the same parts
            states.append(then if outlines else staying(states[-1], then, str(seed).encode()))
        *earlier, own = states if outlines else [load.completed(one, further) for one in states]
        everyone.append(replace(own, earlier=tuple(earlier)))
    return alike(everyone)


def one_from_files(
    config: RunConfig,
    one: ParticipantSection,
    *,
    classes: int,
    seed: int,
    by_rows: bool = False,
) -> ParticipantData:
    """One participant's samples, where nobody sees the others'.

    Args:
        config: the rules that were agreed on.
        one: its files.
        classes: that were agreed on.
        seed: of what is held out.
        by_rows: see `hold_out`.

    Raises:
        DataError: a file cannot be used; names file, line and column.
    """
    load, further = _FileLoader(config, ReadTables(config.table), classes), one.columns or ()
    fraction = config.data.test_fraction
    own = _loaded(partial(load, further=further), one, fraction, seed, by_rows=by_rows)
    return load.completed(own, further)


def _outline(samples: Samples) -> Samples:
    """The same with zeros for features, which take no memory."""
    return replace(samples, features=np.broadcast_to(np.zeros(()), samples.features.shape))


def _loaded(
    load: Callable[..., Samples],
    one: ParticipantSection,
    held_out: float,
    seed: int,
    *,
    by_rows: bool = False,
) -> ParticipantData:
    known: dict[str, int] = {}  # who is in both files has one number
    with about(one.name):
        samples = load(one.source, known=known)
        if one.test_file is not None:
            return ParticipantData(one.name, samples, load(one.test_file, known=known))
    return hold_out(one.name, samples, held_out, seed, by_rows=by_rows)


class _FileLoader:
    """One file -> samples, by the rules of a configuration."""

    def __init__(
        self,
        config: RunConfig,
        tables: ReadTables,
        classes: int | None = None,
        *,
        outlines: bool = False,
    ) -> None:
        self._tables = tables
        self._outlines = outlines
        self._range = config.data.feature_range
        self._table = table = config.table
        self._patients = None if table is None else table.patient_column
        self._spec = table_spec(table) if table is not None and table.columns else None
        self._classes = classes or (len(table.classes) or None if table is not None else None)
        if self._classes is None and self._spec is None:
            # Arrays name no classes; everyone's largest label decides, and nothing else is told.
            self._classes = (
                max(
                    _largest_label(one, self._range)
                    for one in (*config.participants, *config.renewals)
                )
                + 1
            )

    def __call__(
        self,
        path: Path | str,
        *,
        further: Sequence[OwnColumn] = (),
        known: dict[str, int] | None = None,
    ) -> Samples:
        if isinstance(path, Path) and path.suffix == ".npz":
            if self._patients is not None:
                raise DataError(
                    "arrays have no column that names patients",
                    where=path.name,
                    expected="a .csv or .parquet table, or no table.patient_column",
                )
            if self._table is not None and self._table.positive is not None:
                raise DataError(
                    "arrays have numbers of classes, no codes",
                    where=path.name,
                    expected="a table, or no table.positive",
                    hint="Name the class that sensitivity is of 1 in arrays, the other one 0",
                )
            return samples_of(
                read_npz(path), where=path.name, classes=self._classes, feature_range=self._range
            )
        if self._spec is None:
            raise ConfigError("no rules for this table", where=str(path), expected="[table]")
        rows = self._tables.rows(path)
        spec = self._spec.with_columns(further)
        samples = encode(rows, spec, self._extract(spec, rows.folder))
        samples = replace(samples, further=len(spec.features) - len(self._spec.features))
        if self._patients is None:
            return samples
        return replace(samples, patients=patients_of(rows, self._patients, known))

    def completed(self, own: ParticipantData, further: Sequence[OwnColumn]) -> ParticipantData:
        """See `data.filling.completed`."""
        return own if self._spec is None else completed(own, self._spec.with_columns(further))

    def _extract(self, spec: TableSpec, folder: Path) -> Extract | None:
        """What looks at the images of a table, if any; for outlines it sees that it could."""
        if not spec.images:
            return None
        from securefair.model.image_columns import ImageColumns, decoded_only  # torch

        files = extractor_files(() if self._table is None else self._table.columns, folder)
        images = ImageColumns(files, cache=folder / FEATURES)
        if not self._outlines:
            return images
        for rule in spec.images:
            images.extractor(rule)
        return partial(decoded_only, self._tables.decoded)


def _largest_label(one: ParticipantSection, feature_range: tuple[float, float] | None) -> int:
    path = Path(one.source)
    with about(one.name):
        samples = samples_of(read_npz(path), where=path.name, feature_range=feature_range)
    return samples.classes - 1
