"""Data that somebody brings: files, a function, or a data set class -> participants.

Place in the flow: a configuration -> **samples of each participant**. The rules of a table are the
same for everyone. No statistic over several participants' rows is ever computed; what inference of
missing rules takes from each is told in `data.inference` and stands in the resolved configuration
(`table.origin`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeGuard

import numpy as np

from securefair.config import (
    BinaryColumn,
    CategoricalColumn,
    NumericColumn,
    ParticipantSection,
    RunConfig,
    TableSection,
    override,
)
from securefair.data import (
    Binary,
    Categorical,
    Numeric,
    ParticipantData,
    Samples,
    Table,
    TableSpec,
    Target,
    encode,
    hold_out,
    infer_classes,
    infer_table,
    read_npz,
    read_rows,
    samples_of,
    summarise,
)
from securefair.data.cells import table_of
from securefair.errors import ConfigError, DataError
from securefair.user.code import accepted, imported, user_code


@dataclass(frozen=True)
class Resolved:
    """A configuration whose rules are all spelt out.

    Attributes:
        config: with every column of a table.
        inferred: whether the columns were inferred from the participants' tables.
        unused: columns that inference left out, with the reason.
    """

    config: RunConfig
    inferred: bool = False
    unused: Mapping[str, str] = field(default_factory=dict)


def resolve(config: RunConfig) -> Resolved:
    """Spell out the rules of tables that the configuration leaves to inference.

    Raises:
        DataError: a file cannot be read, or no common rules can be found.
    """
    table = config.table
    files = [one for one in config.participants if one.is_table]
    if table is None or table.label is None or not files or (table.columns and table.classes):
        return Resolved(config)
    summaries = {}
    for one in files:
        with about(one.name):
            rows = table_rows(one)
            if config.privacy is not None and config.privacy.patient_column is not None:
                # A name of a patient is no feature, whatever it looks like.
                rows = rows.without(config.privacy.patient_column)
            summaries[one.name] = summarise(rows, table.missing)
    if table.columns:
        joined = table.spellings == "joined"
        classes = [list(codes) for codes in infer_classes(summaries, table.label, joined=joined)]
        return Resolved(override(config, {"table.classes": classes}))
    inferred = infer_table(
        summaries,
        label=table.label,
        classes=table.classes,
        missing=table.missing,
        joined=table.spellings == "joined",
    )
    settings = table_settings(inferred.spec) | {"origin": "participants"}
    return Resolved(override(config, {"table": settings}), True, inferred.unused)


def load_own(config: RunConfig, seed: int, *, outlines: bool = False) -> list[ParticipantData]:
    """The participants of a configuration whose `data.source` is files, python or flamby.

    Args:
        config: checked; columns of tables may still be missing (`resolve`).
        seed: of what is held out, and passed to a function that takes one.
        outlines: of files, keep labels and the shape of features only (`load_participants`).

    Raises:
        ConfigError: the function or class is not there.
        DataError: data cannot be used; names participant, file, line and column, or sample.
    """
    match config.data.source:
        case "files":
            return _from_files(resolve(config).config, seed, outlines=outlines)
        case "python":
            return _from_function(config, seed)
        case "flamby":
            return _from_centers(config, seed)
    raise ConfigError("nobody brings this data", where="data.source", found=config.data.source)


def table_spec(table: TableSection) -> TableSpec:
    """The rules of a [table] section.

    Raises:
        ConfigError: the label, its classes or the columns are missing, or codes are repeated.
    """
    if table.label is None or not table.classes:
        raise ConfigError(
            "a table with given columns needs its classes",
            where="table.classes",
            expected="the codes of each class, such as [[0], [1, 2]]",
        )
    columns: list[Numeric | Binary | Categorical] = []
    for one in table.columns:
        name = one.name
        match one:
            case NumericColumn():
                columns.append(
                    Numeric(
                        name=name,
                        low=one.low,
                        high=one.high,
                        optional=one.optional,
                        missing=one.missing,
                    )
                )
            case BinaryColumn():
                columns.append(
                    Binary(
                        name=name,
                        no=one.no,
                        yes=one.yes,
                        optional=one.optional,
                        missing=one.missing,
                    )
                )
            case CategoricalColumn():
                columns.append(
                    Categorical(
                        name=name, levels=one.levels, optional=one.optional, missing=one.missing
                    )
                )
    return TableSpec(
        columns=tuple(columns),
        target=Target(name=table.label, groups=table.classes),
        missing=table.missing,
        spellings=table.spellings,
    )


def table_settings(spec: TableSpec) -> dict[str, object]:
    """Rules as the keys and values of a [table] section; `table_spec` gives them back."""
    columns: list[dict[str, object]] = []
    for column in spec.columns:
        common: dict[str, object] = {"name": column.name, "optional": column.optional}
        if column.missing:
            common["missing"] = list(column.missing)
        match column:
            case Numeric():
                columns.append(common | {"kind": "numeric", "low": column.low, "high": column.high})
            case Binary():
                columns.append(common | {"kind": "binary", "no": column.no, "yes": column.yes})
            case Categorical():
                columns.append(common | {"kind": "categorical", "levels": list(column.levels)})
    return {
        "label": spec.target.name,
        "classes": [list(codes) for codes in spec.target.groups],
        "missing": list(spec.missing),
        "spellings": spec.spellings,
        "columns": columns,
    }


def one_from_files(
    config: RunConfig, one: ParticipantSection, *, classes: int, seed: int
) -> ParticipantData:
    """One participant's samples, where nobody sees the others'.

    Args:
        config: the rules that were agreed on.
        one: its files.
        classes: that were agreed on.
        seed: of what is held out.

    Raises:
        DataError: a file cannot be used; names file, line and column.
    """
    return _loaded(config, _FileLoader(config, classes), one, seed)


def _from_files(config: RunConfig, seed: int, *, outlines: bool) -> list[ParticipantData]:
    load = _FileLoader(config)
    if not outlines:
        return alike([_loaded(config, load, one, seed) for one in config.participants])

    def outlined(path: Path | str) -> Samples:
        return _outline(load(path))

    everyone = [_loaded(config, outlined, one, seed) for one in config.participants]
    return alike(
        [replace(own, train=_outline(own.train), test=_outline(own.test)) for own in everyone]
    )


def _outline(samples: Samples) -> Samples:
    """The same with zeros for features, which take no memory."""
    return replace(samples, features=np.broadcast_to(np.zeros(()), samples.features.shape))


def _loaded(
    config: RunConfig,
    load: Callable[[Path | str], Samples],
    one: ParticipantSection,
    seed: int,
) -> ParticipantData:
    with about(one.name):
        samples = load(one.source)
        if one.test_file is not None:
            return ParticipantData(one.name, samples, load(one.test_file))
    return hold_out(one.name, samples, config.data.test_fraction, seed)


class _FileLoader:
    """One file -> samples, by the rules of a configuration."""

    def __init__(self, config: RunConfig, classes: int | None = None) -> None:
        self._range = config.data.feature_range
        self._patients = None if config.privacy is None else config.privacy.patient_column
        table = config.table
        self._spec = table_spec(table) if table is not None and table.columns else None
        self._classes = classes or (len(table.classes) or None if table is not None else None)
        if self._classes is None and self._spec is None:
            # Arrays name no classes; everyone's largest label decides, and nothing else is told.
            self._classes = max(_largest_label(one, self._range) for one in config.participants) + 1

    def __call__(self, path: Path | str) -> Samples:
        if isinstance(path, Path) and path.suffix == ".npz":
            if self._patients is not None:
                raise DataError(
                    "arrays have no column that names patients",
                    where=path.name,
                    expected="a .csv or .parquet table, or no privacy.patient_column",
                )
            return samples_of(
                read_npz(path), where=path.name, classes=self._classes, feature_range=self._range
            )
        if self._spec is None:
            raise ConfigError("no rules for this table", where=str(path), expected="[table]")
        rows = _rows(path)
        samples = encode(rows, self._spec)
        return samples if self._patients is None else _of_patients(samples, rows, self._patients)


def _of_patients(samples: Samples, table: Table, name: str) -> Samples:
    """The samples with the patient of each row, by the column that names them."""
    if name not in table.columns:
        raise DataError(
            "the column that names the patients is not in the table",
            where=table.source,
            found=", ".join(table.columns),
            expected=f"a column {name!r} (privacy.patient_column)",
        )
    column = table.columns[name]
    nobody = np.array([not text for text in column.texts])
    if nobody.any():
        raise DataError("a row without a patient", where=table.place(column.first(nobody), name))
    return replace(samples, patients=column.codes)


def _largest_label(one: ParticipantSection, feature_range: tuple[float, float] | None) -> int:
    path = Path(one.source)
    with about(one.name):
        samples = samples_of(read_npz(path), where=path.name, feature_range=feature_range)
    return samples.classes - 1


def table_rows(one: ParticipantSection) -> Table:
    """All rows of a participant's table, those of a test file behind.

    Raises:
        DataError: a file cannot be read, or has no rows.
    """
    rows = _rows(one.source)
    return rows if one.test_file is None else table_of([*rows, *_rows(one.test_file)])


_READ: ContextVar[dict[Path | str, Table] | None] = ContextVar("read", default=None)


@contextmanager
def tables_read_once() -> Iterator[None]:
    """Read each table once for as long as this lasts: what looks at it several times shares it."""
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def _rows(source: Path | str) -> Table:
    read = _READ.get()
    rows = read_rows(source) if read is None or source not in read else read[source]
    if read is not None:
        read[source] = rows
    if not rows:
        raise DataError("the table has no rows", where=rows.source)
    return rows


def _from_function(config: RunConfig, seed: int) -> list[ParticipantData]:
    entry = config.data.entry or ""
    load = imported(entry, config.data.module_folder, where="data.entry")
    offered = {"seed": seed, "test_fraction": config.data.test_fraction}
    with user_code(entry):
        given = load(**accepted(load, offered))
    if not isinstance(given, Mapping) or len(given) < 2:
        raise DataError(
            "the function must return at least two participants by name",
            where=entry,
            found=type(given).__name__ if not isinstance(given, Mapping) else f"{len(given)}",
            expected="a dict of name: (training data set, test data set), or name: data set",
        )
    return alike(
        [
            participant_of(
                str(name),
                value,
                test_fraction=config.data.test_fraction,
                seed=seed,
                feature_range=config.data.feature_range,
            )
            for name, value in given.items()
        ]
    )


def participant_of(
    name: str,
    data: object,
    *,
    test_fraction: float,
    seed: int,
    feature_range: tuple[float, float] | None = None,
) -> ParticipantData:
    """One participant from its data set, or from a pair of training and test data sets.

    Args:
        name: of the participant.
        data: `ParticipantData`, a pair (training, test), or one data set of which a part is held
            out; each data set as `samples_of` takes it. A pair of two arrays is one data set.
        test_fraction: of one data set, in (0, 1).
        seed: of the draw.
        feature_range: see `samples_of`.

    Raises:
        DataError: see `samples_of`.
    """
    if isinstance(data, ParticipantData):
        data = (data.train, data.test)
    if are_two_data_sets(data):
        train = samples_of(data[0], where=f"{name}, training", feature_range=feature_range)
        test = samples_of(data[1], where=f"{name}, test", feature_range=feature_range)
        return ParticipantData(name, train, test)
    samples = samples_of(data, where=name, feature_range=feature_range)
    return hold_out(name, samples, test_fraction, seed)


def are_two_data_sets(data: object) -> TypeGuard[tuple[object, object]]:
    """Whether a pair is (training, test) rather than the arrays (features, labels) of one."""
    return (
        isinstance(data, tuple)
        and len(data) == 2
        and not any(hasattr(part, "dtype") for part in data)  # a table of features has dtypes
    )


def _from_centers(config: RunConfig, seed: int) -> list[ParticipantData]:
    """FLamby's convention: Dataset(center=k, train=True), and NUM_CLIENTS in its module."""
    entry = config.data.entry or ""
    dataset = imported(entry, config.data.module_folder, where="data.entry")
    centers = config.data.centers
    if centers is None:
        centers = getattr(sys.modules[entry.partition(":")[0]], "NUM_CLIENTS", None)
    if not isinstance(centers, int) or centers < 2:
        raise ConfigError(
            "the number of centres is not known",
            where="data.centers",
            found=centers,
            expected=f"a number of 2 or more, or NUM_CLIENTS in the module of {entry}",
        )
    everyone = []
    for center in range(centers):
        with user_code(entry):
            parts = tuple(dataset(center=center, train=train) for train in (True, False))
        everyone.append(
            participant_of(
                f"center {center}",
                parts,
                test_fraction=config.data.test_fraction,
                seed=seed,
                feature_range=config.data.feature_range,
            )
        )
    return alike(everyone)


def alike(everyone: list[ParticipantData], *, at_least: int = 0) -> list[ParticipantData]:
    """The same participants with one number of classes, the largest.

    Args:
        everyone: at least one.
        at_least: classes that are known of besides the labels.

    Raises:
        DataError: their numbers of features differ, or there is one class only.
    """
    parts = [(own.name, part) for own in everyone for part in (own.train, own.test)]
    width = everyone[0].train.features.shape[1]
    for name, part in parts:
        if part.features.shape[1] != width:
            raise DataError(
                f"the number of features differs from {everyone[0].name}'s",
                where=name,
                found=part.features.shape[1],
                expected=width,
                hint="Everyone needs the same features in the same order",
            )
    classes = max(at_least, *(part.classes for _, part in parts))
    if classes < 2:
        raise DataError("there is one class only: nothing to tell apart", found=classes)
    return [
        ParticipantData(
            own.name,
            replace(own.train, classes=classes),
            replace(own.test, classes=classes),
        )
        for own in everyone
    ]


@contextmanager
def about(name: str) -> Iterator[None]:
    """Name the participant whose file an error is about."""
    try:
        yield
    except DataError as error:
        raise DataError(
            error.problem,
            where=", ".join(filter(None, [f"participant {name}", error.where])),
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        ) from error
