"""Peers' models on own patients, as one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from securefair.ckks.threads import threads_set
from securefair.collaboration.kinds import validating_kind
from securefair.collaboration.resolved import ResolvedRun
from securefair.data import TableSpec
from securefair.library.given import given_data
from securefair.library.hospitals import check_hospitals
from securefair.library.settings import settings as checked
from securefair.library.tables import whole_tables
from securefair.run.validating import Validation, validate_resolved


def validate(
    hospitals: Mapping[str, object],
    *,
    label: str | TableSpec | None = None,
    positive: str | int | None = None,
    patient_column: str | None = None,
    teachers: Mapping[str, object] | None = None,
    roles: Mapping[str, str] | None = None,
    by: Sequence[str] | str = (),
    seed: int = 0,
    threads: int = 1,
    **settings: object,
) -> Validation:
    """Score every hospital's model on the labelled patients of every other, under encryption.

    Everyone fits a regularised model to its own training samples, or brings one, and asks its peers
    once about all own patients, encrypted. It opens every answer by itself, and nobody learns from
    it. As many patients as a linear fit has coefficients tell a peer's whole fit.

    Args:
        hospitals, label, positive, patient_column, teachers, seed, threads: as of
            `collaborate`; a model that a hospital brings is the one that is validated.
        roles: by hospital "student", which validates only, "teacher", which is validated only, or
            "both".
        by: a column, or columns, of the tables by whose groups scores are given too; only with
            `label`.
        settings: as of `collaborate`, such as `fit="quadratic"`, `backend="clear"`.

    Returns:
        `hospitals[name].peers[peer].page.scores["auc"].mean`, and so on; see `ScorePage`.

    Raises:
        ConfigError: fewer than two hospitals; there is no such setting, role or hospital; nobody
            asks or answers.
        DataError: data cannot be used, or there is no such column.
        ModelError: a model that was brought gives no probabilities of these classes.
        PlanError: no parameters satisfy these settings.
    """
    kind = validating_kind()
    config = checked(settings, algorithm=kind.name, model=None, seed=seed)
    (seed,) = config.run.seeds  # as an int, whatever whole number it was
    check_hospitals(hospitals, None)
    given = given_data(
        hospitals,
        config,
        label=label,
        positive=positive,
        patient_column=patient_column,
        teachers=teachers,
    )
    run = ResolvedRun(
        config=config,
        kinds={kind.name: kind},
        rules=given.rules,
        further=given.further,
        data={seed: given.data},
    ).load()
    by = (by,) if isinstance(by, str) else by
    tables = whole_tables(hospitals) if by and label is not None else None
    with threads_set(threads):
        return validate_resolved(run, by=by, roles=roles, tables=tables)
