"""A site's own samples, by the rules that everyone signed."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from securefair.config import ParticipantSection
from securefair.config.columns import OwnColumn, missing_codes
from securefair.data import ParticipantData, propose, read_rows
from securefair.data.cells import stacked
from securefair.data.databases import is_query
from securefair.data.findings import Finding
from securefair.data.groups import own_groups
from securefair.data.inference import rule_of
from securefair.data.quality import NAME_IT
from securefair.errors import ConfigError, DataError
from securefair.model.teachers import teacher_of
from securefair.sites.project.agreeing import kind_in, shape_of
from securefair.sites.project.terms import Terms
from securefair.sites.site.folder import SampleFiles, SiteSettings, check_data_file
from securefair.storage import Access, Store, Transaction
from securefair.user.files import one_from_files
from securefair.user.inspection import inspect_tables
from securefair.user.tables import ReadTables, table_spec
from securefair.user.units import refuse_other_unit

SAMPLES, PARTS_OF_SAMPLES = "samples digest of all parts", "samples digest"
"""Of the store: which samples the first start found; earlier versions left out some parts."""


_ASK_FOR_IT = "Ask who writes the project to name this column as patient_column in [table]"

SHOWN_BY_CHECK = "`securefair site check` shows it"


class _Hushed:
    """The warnings about data, which have ranges of values, while any thread wants none."""

    def __init__(self) -> None:
        self._lock, self._wanted, self._level = threading.Lock(), 0, logging.NOTSET
        self._log = logging.getLogger("securefair.data")

    def __enter__(self) -> None:
        with self._lock:
            if not self._wanted:
                self._level = self._log.level
                self._log.setLevel(logging.ERROR)
            self._wanted += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._wanted -= 1
            if not self._wanted:
                self._log.setLevel(self._level)


_HUSHED = _Hushed()


@contextlib.contextmanager
def unquoted() -> Iterator[None]:
    """Say of one's own data where it is wrong, and quote no cell: a log is read, kept and sent on.

    Raises:
        DataError: the same without what was found.
    """
    try:
        with _HUSHED:
            yield
    except DataError as error:
        quotes = error.found is not None
        raise DataError(
            error.problem,
            where=error.where,
            expected=error.expected,
            hint=SHOWN_BY_CHECK if quotes else error.hint,
            passing=error.passing,
        ) from None


def check_same_samples(store: Store, data: ParticipantData, teacher: str | None = None) -> None:
    """See that these are the samples that the site began with; the first are noted down.

    Answers of one site come from one set of patients, and what it encrypted is of them; and from
    one model, if it brought one.

    Args:
        store: of the site; nothing is noted in one that is only read.
        data: its samples.
        teacher: what answers instead of a fit, of its settings.

    Raises:
        DataError: the files were changed since.
    """
    digests = digests_of(data, teacher)
    if not _known(store, digests):
        raise DataError(
            "the samples, or the model that answers, are not those that this site began with",
            where=data.name,
            hint="Put the files back as they were; `securefair site renew` goes on with others",
        )
    if store.access is Access.READ:
        return
    with store.transaction() as tx:
        if tx.memory.get(SAMPLES) is None:
            tx.memory.put(SAMPLES, digests[SAMPLES])


def began_with(store: Store, data: ParticipantData, teacher: str | None) -> bool:
    """Whether the site began with these samples, or with none yet; as `check_same_samples`."""
    return _known(store, digests_of(data, teacher))


def _known(store: Store, digests: Mapping[str, bytes]) -> bool:
    with store.view() as tx:
        return all(tx.memory.get(name) in (None, digest) for name, digest in digests.items())


def note_samples(tx: Transaction, data: ParticipantData, teacher: str | None) -> None:
    """Note other samples down, with which the site goes on; arguments as `check_same_samples`."""
    forget_samples(tx)
    tx.memory.put(SAMPLES, digests_of(data, teacher)[SAMPLES])


def forget_samples(tx: Transaction) -> None:
    """The next start notes its samples down as the first one does."""
    tx.memory.delete(PARTS_OF_SAMPLES)
    tx.memory.delete(SAMPLES)


def digests_of(data: ParticipantData, teacher: str | None) -> dict[str, bytes]:
    """32 bytes over a site's samples and what answers instead of a fit, by their names."""
    answers = b""
    if teacher is not None:
        path = Path(teacher)
        answers = path.read_bytes() if path.suffix else teacher.encode()
    parts = (data.train, data.test)
    few = [array for part in parts for array in (part.features, part.labels)]
    more = [array for part in parts for array in (part.patients, part.weights, part.values)]
    return {
        PARTS_OF_SAMPLES: _digest(few, answers),
        SAMPLES: _digest([*few, *more], answers),
    }


def _digest(arrays: Sequence[NDArray[Any] | None], answers: bytes) -> bytes:
    digest = sha256()
    for array in arrays:
        if array is None:
            digest.update(b"none")
            continue
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(answers)
    return digest.digest()


def own_samples(
    settings: SiteSettings, terms: Terms, seed: int, *, by_rows: bool = False
) -> ParticipantData:
    """The samples of one site.

    Args:
        settings: which files.
        terms: what was agreed.
        seed: of what is held out.
        by_rows: see `hold_out`.

    Raises:
        DataError: a file is missing or does not keep to the rules, or there are too many samples.
    """
    test = None if settings.test_data is None else Path(settings.test_data)
    query = is_query(settings.data)
    for path in (None if query else Path(settings.data), test):
        if path is not None:
            check_data_file(path)
    features, classes = shape_of(terms)
    if settings.columns and not kind_in(terms).takes_own:
        raise ConfigError(
            "this kind of collaboration lets no hospital use columns that others have not",
            where=f"{settings.name}, columns",
            found=", ".join(str(one.get("name")) for one in settings.columns),
            expected="no such columns, or a transfer",
        )
    table = terms.config.table
    if table is not None:
        data = settings.data if query else Path(settings.data)
        rows = read_rows(data, missing=missing_codes(table.missing, table.columns))
        refuse_other_unit(settings.name, rows, table)
    section = _section(settings.name, settings.data, test, settings.columns)
    own = one_from_files(terms.config, section, classes=classes, seed=seed, by_rows=by_rows)
    found = own.train.common.features.shape[1]
    if found != features:
        raise DataError(
            "the samples have another number of features than agreed",
            where=settings.name,
            found=found,
            expected=features,
        )
    if len(own.train) > terms.project.max_samples:
        raise DataError(
            "there are more training samples than agreed",
            where=settings.name,
            found=len(own.train),
            expected=f"at most {terms.project.max_samples}",
        )
    if settings.teacher is None:
        return own
    if not kind_in(terms).takes_own:
        raise ConfigError(
            "this kind of collaboration lets no model that is brought answer",
            where=f"{settings.name}, teacher",
            found=settings.teacher,
            expected="no teacher, or a transfer",
        )
    where = f"{settings.name}, teacher"
    return replace(own, teacher=teacher_of(settings.teacher, where=where))


def write_samples(folder: Path, own: ParticipantData, name: str) -> SampleFiles:
    """Files of a participant's samples for a site of a rehearsal, under this name."""
    paths = []
    for part, samples in (("train", own.train), ("test", own.test)):
        paths.append(str(folder / f"{name}.{part}.npz"))
        np.savez(paths[-1], features=samples.features, labels=samples.labels)
    return SampleFiles(data=paths[0], test_data=paths[1])


def groups_by(
    own: ParticipantData, by: Sequence[str], settings: SiteSettings
) -> dict[str, NDArray[np.str_]]:
    """The group of each of a site's patients by columns of its table, as `own_groups`.

    Raises:
        DataError: the table cannot be read, or has no such column.
    """
    if not by:
        return {}
    query = is_query(settings.data)
    rows = read_rows(settings.data if query else Path(settings.data))
    if settings.test_data is not None:
        rows = stacked(rows, read_rows(Path(settings.test_data)))
    return own_groups(own, by, rows)


def own_rules(name: str, data: str, columns: Sequence[Mapping[str, Any]]) -> tuple[OwnColumn, ...]:
    """Rules of a site's columns that others need not have, as its settings say them.

    Raises:
        ConfigError: they are no rules.
    """
    return _section(name, data, None, columns).columns or ()


def own_findings(
    name: str, data: str, terms: Terms, columns: Sequence[Mapping[str, Any]] = ()
) -> list[Finding]:
    """What to look at in the table of one site; of arrays, or a table that is gone, nothing."""
    try:
        found = inspect_tables(
            terms.config.table,
            [_section(name, data, None, columns)],
            ReadTables(terms.config.table),
        )
    except DataError:
        return []
    return [  # a site has no [table] of its own
        structs.replace(one, remedy=one.remedy.replace(NAME_IT, _ASK_FOR_IT)) for one in found
    ]


def own_columns(terms: Terms, name: str, data: str, wanted: Sequence[str]) -> tuple[OwnColumn, ...]:
    """Rules of a site's columns that others need not have, from its own table alone.

    Args:
        terms: what was agreed.
        name: of the site.
        data: its table.
        wanted: names of columns.

    Raises:
        ConfigError: no table was agreed on, or a column is agreed on already.
        DataError: the table has no such column, or it is no feature; says why.
    """
    if not wanted:
        return ()
    table = terms.config.table
    if table is None or not table.columns:
        raise ConfigError("arrays have no columns with names", where=f"{name}, columns")
    spec = table_spec(table)
    rows = read_rows(data if is_query(data) else Path(data), missing=spec.every_missing)
    told = {
        one.name: one
        for one in propose(
            rows,
            label=spec.target.name,
            classes=spec.target.groups,
            at_least=1,
            missing=spec.missing,
            target=spec.target if spec.target.outcome else None,
        ).columns
    }
    agreed = {*spec.known, *(rule.name for rule in spec.columns)}
    found = []
    for column in wanted:
        where = f"{name}, column {column}"
        if column in agreed:
            raise ConfigError("everybody has this column", where=where)
        if column not in told:
            raise DataError("the table has no such column", where=where, found=", ".join(told))
        rule = rule_of([told[column]], [name], joined=spec.spellings == "joined")
        if isinstance(rule, str):
            raise DataError("the column is no feature", where=where, found=rule)
        found.append(rule)
    return tuple(found)


def _section(
    name: str, data: str, test: Path | None, columns: Sequence[Mapping[str, Any]] = ()
) -> ParticipantSection:
    query = is_query(data)
    rules: Any = tuple(columns) or None  # which the section checks
    return ParticipantSection(
        name=name,
        file=None if query else Path(data),
        data=data if query else None,
        test_file=test,
        columns=rules,
    )
