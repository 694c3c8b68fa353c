"""Opened logits and what is known of own patients -> a page of scores for each peer's model.

The same page as of a kept model on another year's patients (`worth.page`). What a hospital adds to
predictors, such as a baseline, is of its own patients: for each, of the others. Beside the peers
stands the hospital's own fit, of each patient by a fit that did not see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from securefair.ckks.backends import encrypts
from securefair.collaboration.validated import HospitalValidation, PeerValidation
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import DataError
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.pictures import Shown
from securefair.model.transfer import OwnFit
from securefair.model.transfer.folds import stratified_folds
from securefair.model.transfer.surrogate import explained, is_function
from securefair.records import Picture
from securefair.worth.page import Groups, ScorePage, check_scorable, score_page

if TYPE_CHECKING:
    from securefair.collaboration.validation.agreement import ValidationAgreement

Array = NDArray[np.float64]


def validation_of(
    agreement: ValidationAgreement,
    data: ParticipantData,
    own: OwnFit,
    logits: Mapping[str, Array],
    *,
    asked: Sequence[str],
    groups: Groups | None = None,
) -> HospitalValidation:
    """Score what was opened.

    Args:
        agreement: what was agreed.
        data: patients of the hospital, and the model that it brought, if any.
        own: its own fit.
        logits: (n, L), as they were opened, by peer; training patients first.
        asked: peers.
        groups: in which patients are looked at apart, in the same order.

    Raises:
        DataError: groups and patients disagree.
    """
    patients = agreement.patients_of(data)
    unscored = ""
    try:
        check_scorable(patients)
    except DataError as error:
        unscored = str(error)

    def page(predictors: Array) -> ScorePage | None:
        return None if unscored else page_of(predictors, patients, groups)

    alone = None
    if data.teacher is None and asked:
        alone = held_out(own, data.test, leaves=agreement.leaves)
    return HospitalValidation(
        hospital=data.name,
        patients=len(patients),
        peers={
            name: PeerValidation(
                page=page(z),
                smooth=smooth(agreement, patients, z),
                numbers=agreement.question.numbers_of(len(patients)),
            )
            for name, z in logits.items()
        },
        unanswered=[name for name in asked if name not in logits],
        own=None if alone is None else page(alone),
        unscored=unscored,
        tells_fit=agreement.question.determines_fit(len(patients)),
        encrypted=encrypts(agreement.encryption.backend),
        private=agreement.private,
    )


def page_of(predictors: Array, patients: Samples, groups: Groups | None = None) -> ScorePage:
    """Scores and pictures of predictors (n, L), all with an own part of the other patients."""
    page = score_page(said_of_others(predictors, patients), patients, groups=groups)
    return structs.replace(page, pictures=pictures_by_others(predictors, patients))


def said_of_others(predictors: Array, patients: Samples) -> Array:
    """What is said of each patient, (n, K), by predictors (n, L) and an own part that it has no
    part in.

    A deviation or a baseline that the scored patients themselves gave would make every model as
    sure as it should be. The last columns are left out where the patients of a fold alone had an
    event: then nobody can say when.
    """
    said: dict[int, Array] = {}
    for within, shown in _by_others(predictors, patients):
        said |= dict(zip(within.tolist(), shown.said, strict=True))
    width = min(map(len, said.values()))
    return np.stack([said[row][:width] for row in range(len(patients))])


def pictures_by_others(predictors: Array, patients: Samples) -> list[Picture]:
    """What a page shows of predictors (n, L): of each fold by the own part of the other patients,
    as what is scored (`said_of_others`)."""
    outcome = outcome_of(patients)
    if not outcome.adds_own:
        return outcome.page_pictures(Shown(outcome.said(predictors, {}), {}, patients))
    return outcome.pictures([shown for _, shown in _by_others(predictors, patients)])


def _by_others(predictors: Array, patients: Samples) -> Iterator[tuple[NDArray[np.int64], Shown]]:
    """Rows of each fold, and what is said of these by the own part of the other patients."""
    outcome = outcome_of(patients)
    folds = stratified_folds(patients, np.random.default_rng(0))
    for fold in np.unique(folds):
        within, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        own = outcome.own_part(predictors[others], patients.take(others))
        yield within, Shown(outcome.said(predictors[within], own), own, patients.take(within))


def smooth(agreement: ValidationAgreement, patients: Samples, logits: Array) -> bool:
    """Whether logits (n, L) follow from the features, as a transfer judges it."""
    folds = stratified_folds(patients, np.random.default_rng(0))
    x = patients.common.features
    r2 = explained(x, logits, agreement.degree, folds, leaves=agreement.leaves)
    return is_function(x, r2)


def held_out(own: OwnFit, test: Samples, *, leaves: bool) -> Array | None:
    """Predictors (n, L) of the own fit that answers peers: of training patients by fits that did
    not see them. None where an outcome's held-out predictors are not the patients' own.

    Args:
        own: fits on the training patients.
        test: patients besides.
        leaves: whether answers are functions of the leaves of public trees as well.
    """
    own = own.told
    validated, model = own.validated, own.best_of_all if leaves else own.model
    if leaves:
        best = min(own.families, key=lambda one: float(one.validated.scores.min()))
        validated = best.validated
    unseen = validated.held_out[int(validated.scores.argmin())]
    if len(unseen) != len(own.samples):
        return None
    return np.concatenate([unseen, model.logits(test.common.features)])
