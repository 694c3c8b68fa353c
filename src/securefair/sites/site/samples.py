"""A site's own samples, by the rules that everyone signed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.config import ParticipantSection
from securefair.data import ParticipantData, read_rows
from securefair.data.cells import stacked
from securefair.data.databases import is_query
from securefair.data.findings import Finding
from securefair.data.groups import own_groups
from securefair.errors import ConfigError, DataError
from securefair.model.teachers import teacher_of
from securefair.sites.project.agreeing import kind_in, shape_of
from securefair.sites.project.terms import Terms
from securefair.sites.site.folder import SampleFiles, SiteSettings, check_data_file
from securefair.storage import Store
from securefair.user.files import one_from_files
from securefair.user.inspection import inspect_own

SAMPLES = "samples digest"
"""Of the store: which samples the first start found."""


def check_same_samples(store: Store, data: ParticipantData, teacher: str | None = None) -> None:
    """See that these are the samples that the site began with, or note them down.

    Answers of one site come from one set of patients, and what it encrypted is of them; and from
    one model, if it brought one.

    Args:
        store: of the site.
        data: its samples.
        teacher: what answers instead of a fit, of its settings.

    Raises:
        DataError: the files were changed since.
    """
    digest = digest_of(data, teacher)
    with store.transaction() as tx:
        known = tx.memory.get(SAMPLES)
        if known is None:
            tx.memory.put(SAMPLES, digest)
        elif known != digest:
            raise DataError(
                "the samples, or the model that answers, are not those that this site began with",
                where=data.name,
                hint="Put the files back as they were; `securefair site renew` goes on with others",
            )


def digest_of(data: ParticipantData, teacher: str | None) -> bytes:
    """32 bytes over a site's samples, and over the model that answers instead of a fit."""
    digest = sha256()
    for part in (data.train, data.test):
        for array in (part.features, part.labels):
            digest.update(repr((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    if teacher is not None:
        path = Path(teacher)
        digest.update(path.read_bytes() if path.suffix else teacher.encode())
    return digest.digest()


def own_samples(settings: SiteSettings, terms: Terms, seed: int) -> ParticipantData:
    """The samples of one site.

    Args:
        settings: which files.
        terms: what was agreed.
        seed: of what is held out.

    Raises:
        DataError: a file is missing or does not keep to the rules, or there are too many samples.
    """
    test = None if settings.test_data is None else Path(settings.test_data)
    query = is_query(settings.data)
    for path in (None if query else Path(settings.data), test):
        if path is not None:
            check_data_file(path)
    features, classes = shape_of(terms)
    section = _section(settings.name, settings.data, test)
    own = one_from_files(terms.config, section, classes=classes, seed=seed)
    found = own.train.features.shape[1]
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
    if not kind_in(terms).takes_teachers:
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


def own_findings(name: str, data: str, terms: Terms) -> list[Finding]:
    """What to look at in the table of one site; of arrays, or a table that is gone, nothing."""
    try:
        return inspect_own(terms.config, _section(name, data, None))
    except DataError:
        return []


def _section(name: str, data: str, test: Path | None) -> ParticipantSection:
    query = is_query(data)
    return ParticipantSection(
        name=name,
        file=None if query else Path(data),
        data=data if query else None,
        test_file=test,
    )
